package main

import "sync"

// tailBytes is how much of what a started command says is kept.
const tailBytes = 4 << 10

// tail keeps the end of what is written. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if n := len(t.data) - tailBytes; n > 0 {
		t.data = append(t.data[:0], t.data[n:]...)
	}
	return len(p), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
