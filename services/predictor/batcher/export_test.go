package batcher

// Lanes is how many kinds of requests are remembered.
func Lanes(b *Batcher) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lanes.byKey)
}
