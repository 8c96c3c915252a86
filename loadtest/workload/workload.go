// Package workload is what a load test sends: requests of one sort or of several,
// mixed by weight. It does not decide when they are sent.
package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/shared/failure"
)

// What can sensibly be asked for of a Spec.
const (
	MaxConnections = 1000
	MaxContents    = 10_000
	MaxJobItems    = 100_000
)

// Spec is one sort of request.
type Spec struct {
	// Name is what reports call it.
	Name string
	// Weight is its share, beside those of the others.
	Weight float64
	// Target says where requests go and how.
	Target target.Options
	// Images are files and folders. Each image is a request of its own.
	Images []string
	// Tensor is NAME:DATATYPE:DIMS, sent in place of images; so many Contents with
	// Batch items each.
	Tensor          string
	Batch, Contents int
	// JobItems above 0 sends jobs of so many images each.
	JobItems int
	// Deadline bounds a request from when it is due; 0 for no bound.
	Deadline time.Duration
	// Expected is a file of right answers, ExpectedVersion the model version whose
	// answers they are.
	Expected, ExpectedVersion string
	// Consistent wants the same labels for an image each time.
	Consistent bool
}

// Default is a Spec of which nothing has been said but what is sent: images, for
// the model of our repository.
func Default() Spec {
	return Spec{
		Weight: 1, Batch: 1, Contents: 16, ExpectedVersion: "2",
		Target: target.Options{Protocol: target.Classify, Model: "classify", Input: "IMAGE", Output: "LABEL", Connections: 2},
	}
}

// Label is the name of the sort, or else its model's.
func (s Spec) Label() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Target.Model
}

// Workload is sorts of requests that can be sent. Close it when none is running.
type Workload struct {
	sorts []*sort
	ends  []float64 // of each sort's part of the line from 0 to 1
	seed  uint64
}

// sort is a Spec that can be sent.
type sort struct {
	spec   Spec
	target load.Target
	try    load.Target // sends one request of a test that has not begun
	close  io.Closer
	items  int
	next   atomic.Int64
}

// New reads the images and prepares the requests. It sends none. The seed chooses
// which request is of which sort.
func New(specs []Spec, seed uint64) (*Workload, error) {
	w := &Workload{seed: seed}
	var total, end float64
	for _, s := range specs {
		total += s.Weight
	}
	if !(total > 0) {
		return nil, failure.New(failure.Invalid, "there is nothing to send: the weights of the requests are 0 together")
	}
	for _, spec := range specs {
		made, err := prepare(spec, seed)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		end += spec.Weight / total
		w.sorts, w.ends = append(w.sorts, made), append(w.ends, end)
	}
	return w, nil
}

// Of is a workload of one sort, sent by a target of the caller's own, which is
// called name and has so many items. Close does not close it.
func Of(name string, t load.Target, items int) *Workload {
	one := &sort{spec: Spec{Name: name, Weight: 1}, target: t, try: t, close: nothing{}, items: items}
	return &Workload{sorts: []*sort{one}, ends: []float64{1}}
}

// nothing needs no closing.
type nothing struct{}

// Close does nothing.
func (nothing) Close() error { return nil }

// Close ends all connections.
func (w *Workload) Close() error {
	errs := make([]error, 0, len(w.sorts))
	for _, s := range w.sorts {
		errs = append(errs, s.close.Close())
	}
	return errors.Join(errs...)
}

// Describe says what each sort sends, in a line.
func (w *Workload) Describe() []string {
	lines := make([]string, len(w.sorts))
	for i, s := range w.sorts {
		lines[i] = describe(s.spec, s.items)
		if len(w.sorts) > 1 {
			lines[i] = fmt.Sprintf("%s (weight %g): %s", s.spec.Label(), s.spec.Weight, lines[i])
		}
	}
	return lines
}

// Items is how many images or tensors the sorts have together.
func (w *Workload) Items() int {
	n := 0
	for _, s := range w.sorts {
		n += s.items
	}
	return n
}

// Try sends one request of each sort, for jobs one of a single image, and says what is wrong with the first that is
// not answered. An answer with wrong labels is one: the test will tell.
func (w *Workload) Try(ctx context.Context) error {
	for _, s := range w.sorts {
		if _, err := s.try.Do(ctx, 0); err != nil && measure.FaultOf(err).Kind != measure.WrongAnswer {
			return err
		}
	}
	return nil
}
