package modelconfig

// Fault is the first value that could not be read, for one who does not read all
// keys.
func (p *Parameters) Fault() error { return p.err }
