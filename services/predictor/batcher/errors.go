package batcher

import "errors"

// ErrOutOfMemory marks the failure of a batch that did not fit into the device's
// memory: a smaller one may.
var ErrOutOfMemory = errors.New("out of memory")
