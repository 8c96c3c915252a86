package gate

// Len is how many models have a gate.
func (g *Gates) Len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.gates)
}
