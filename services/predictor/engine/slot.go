package engine

import (
	ort "github.com/yalue/onnxruntime_go"
)

// slot is what one run needs beside its tensors. It is used again by later runs,
// one at a time.
type slot struct {
	values
	options *ort.RunOptions
	stop    func()        // ends the run
	told    chan struct{} // stop is over
	stopped bool
}

func newSlot() (*slot, error) {
	options, err := ort.NewRunOptions()
	if err != nil {
		return nil, err
	}
	s := &slot{options: options, told: make(chan struct{}, 1)}
	s.stop = func() {
		// An error here means that the run goes on to its end.
		_ = options.Terminate()
		s.told <- struct{}{}
	}
	return s, nil
}

// close frees what the runtime holds for the slot.
func (s *slot) close() { discard(s.options) }
