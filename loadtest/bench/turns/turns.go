// Package turns lets two programs do the same work in short turns, one after the
// other, so that whatever else the machine does spoils both alike. Each side is a
// process that reads orders from its standard input, a JSON document a line, and
// answers in the same way. It knows nothing of the work.
package turns

import (
	"crypto/sha256"
	"encoding/hex"
)

// Task is the work. Each side makes of it what it can.
type Task struct {
	// Kind says what is done with the files: Image, Resize or Chain.
	Kind string `json:"kind"`
	// Files are taken one after the other.
	Files []string `json:"files"`
	// Size is the length of the shorter side after resizing, Crop that of both
	// sides of what is cut out of the middle.
	Size   int    `json:"size"`
	Crop   int    `json:"crop,omitempty"`
	Filter string `json:"filter"`
	// Scaled lets a decoder divide the picture while it decodes it.
	Scaled bool `json:"scaled,omitempty"`
	// Upright turns pictures as EXIF says.
	Upright bool `json:"upright,omitempty"`
	// Callers is how many do it at once; 0 is one.
	Callers int `json:"callers,omitempty"`
	// Library chooses among those that a side has.
	Library string `json:"library,omitempty"`
	// Model is the one that answers, of the kind Chain.
	Model string `json:"model,omitempty"`
}

// The kinds of work. Image is from a file's bytes to the bytes of the tensor;
// Resize is from pixels in memory to pixels in memory; Chain is from a file's bytes
// to labels.
const (
	Image  = "image"
	Resize = "resize"
	Chain  = "chain"
)

// Prepared is what a side says when it is ready for its turns.
type Prepared struct {
	// Sums are the SHA-256 of the results of all files.
	Sums []string `json:"sums"`
	// Difference is the greatest difference of a sample to what ours makes, where a
	// library can't be expected to give the same; or to what is exact, where a task
	// is not. Mean is the mean difference.
	Difference int     `json:"difference,omitempty"`
	Mean       float64 `json:"mean,omitempty"`
	Version    string  `json:"version"`
}

// Sum is that of a result.
func Sum(result []byte) string {
	sum := sha256.Sum256(result)
	return hex.EncodeToString(sum[:])
}

// Turn is what came of one.
type Turn struct {
	Count int `json:"count"`
	// Wall and CPU are in seconds, CPU that of the whole process.
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
	// Mallocs and Allocated are the allocations and their bytes, of Go alone.
	Mallocs   uint64 `json:"mallocs,omitempty"`
	Allocated uint64 `json:"allocated,omitempty"`
}

// Each is the processor time of one item in milliseconds.
func (t Turn) Each() float64 { return 1e3 * t.CPU / float64(t.Count) }

// order is a line to a side: a task to prepare, or the seconds of a turn.
type order struct {
	Task    *Task   `json:"task,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// reply is a line from a side.
type reply struct {
	Error    string    `json:"error,omitempty"`
	Prepared *Prepared `json:"prepared,omitempty"`
	Turn     *Turn     `json:"turn,omitempty"`
}
