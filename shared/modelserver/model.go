// Package modelserver is what all services have in common: it reads a model
// repository, loads the models whose backends it was given, serves them over
// the Open Inference Protocol, and keeps their state, statistics and metrics.
// It runs no model itself: backends do.
package modelserver

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"triptych/proto/inference"
	"triptych/shared/capacity"
)

// Backend makes runnable models of one kind.
type Backend interface {
	// Name is what a configuration's `backend` says, such as "onnxruntime".
	Name() string
	// Load makes one version runnable. An error says what is wrong with the
	// model's directory; its message, if it has a Kind, is shown in the repository
	// index. A panic fails this load alone.
	Load(ctx context.Context, spec Spec) (Model, error)
}

// Completer is a Backend that can fill in what a configuration leaves out, from
// the files of the version in spec.
type Completer interface {
	// Complete changes spec.Config.
	Complete(ctx context.Context, spec Spec) error
}

// Spec is one version of a model to load.
type Spec struct {
	// Config is complete and checked, and belongs to this version alone.
	Config *inference.ModelConfig
	// Version is the version's number, 1 or more.
	Version int64
	// Directory is the model's directory.
	Directory string
}

// Name is the model's name.
func (s Spec) Name() string { return s.Config.GetName() }

// VersionDirectory is where the version's files lie. It need not exist for a
// backend that has no files.
func (s Spec) VersionDirectory() string {
	return filepath.Join(s.Directory, strconv.FormatInt(s.Version, 10))
}

// Model is one loaded version. Infer may be called concurrently.
//
// The request that Infer gets has been checked against the configuration
// (oip.Check) and has raw contents. What Infer returns is the caller's: raw
// contents in memory that is never reused. Infer need not set the model's name,
// version and id, nor put the outputs in the order asked for, nor leave out
// those that nobody asked for. Close is called once, when no call of any method is
// running; none is made after it. A panic fails the one request.
type Model interface {
	Infer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)
	Close() error
}

// TimedModel is a Model that knows where the time of a request went. A Model
// that is not timed counts as one execution that computed all the time. With an
// error because the caller has gone, or its deadline has passed, the Timing's
// executions are counted too: they were made.
type TimedModel interface {
	Model
	InferTimed(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, Timing, error)
}

// Warmer is a Model that wants to run before it is ready. A failure fails the
// load.
type Warmer interface {
	WarmUp(ctx context.Context) error
}

// Prober is a Model whose ability to serve changes while it is loaded, for it
// leans on something else. An error says why it can't serve now.
type Prober interface {
	Ready() error
}

// Describer is a Model with facts to tell in its metadata's properties, such as
// the device that runs it.
type Describer interface {
	Properties() map[string]string
}

// Remarker is a Model that serves, but not quite as it was asked to, such as on
// another device. The repository index shows the remark with a ready version.
type Remarker interface {
	// Remark is empty when all is well. It does not change.
	Remark() string
}

// PendingCounter is a Model with a queue.
type PendingCounter interface {
	// Pending is how many requests are accepted and not yet running.
	Pending() int
}

// Reporter is a Model that knows how much it can take. It is asked often, after a
// request: the answer must cost next to nothing.
type Reporter interface {
	Capacity() capacity.Report
}

// Timing tells where one request's time went. The three compute times are those
// of the batch that the request ran in.
type Timing struct {
	Queue         time.Duration
	ComputeInput  time.Duration
	ComputeInfer  time.Duration
	ComputeOutput time.Duration
	// Batch is the size of the batch that was executed.
	Batch int
	// Executions is 1 for the one request that speaks for its batch, else 0.
	Executions int
}

// Compute is the sum of the three compute times.
func (t Timing) Compute() time.Duration { return t.ComputeInput + t.ComputeInfer + t.ComputeOutput }

// The response parameters that tell a caller where the time went, in
// microseconds (design, section 3).
const (
	QueueParameter   = "triptych_queue_us"
	ComputeParameter = "triptych_compute_us"
)
