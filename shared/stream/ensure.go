package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The states of a stream or a consumer after Apply.
const (
	Made    = "made"
	Changed = "changed"
	Left    = "as it should be"
	// Missing and Different are what Status says of what Apply would make or change.
	Missing   = "missing"
	Different = "different"
)

// Change says what became of one stream or consumer.
type Change struct {
	// Name is the stream's, and after a slash the consumer's.
	Name string `json:"name"`
	// Model is whose tasks a stream or a consumer is for; empty for those of all.
	Model string `json:"model,omitempty"`
	State string `json:"state"`
	// Detail names the fields that were or would be changed, with both values.
	Detail string `json:"detail,omitempty"`
	// Messages and Bytes are what a stream holds, and Limit the most bytes of it.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Limit    int64  `json:"limit,omitempty"`
}

// Ensure makes the streams and buckets of all jobs, or changes those that are
// there to the present limits. It may be called by many at once, and again.
func (c *Connection) Ensure(ctx context.Context) error {
	_, err := c.Apply(ctx)
	return err
}

// Apply does what Ensure does, and the same for the queues of models that are there
// already, and says what it has done.
func (c *Connection) Apply(ctx context.Context) ([]Change, error) {
	if err := c.fits(); err != nil {
		return nil, err
	}
	all, err := c.all(ctx)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, w := range all {
		done, err := c.apply(ctx, &w)
		changes = append(changes, w.of(done)...)
		if err != nil {
			return changes, err
		}
	}
	return changes, nil
}

// EnsureModel makes the queue of a model's tasks and its consumers, or changes
// them to the present limits.
func (c *Connection) EnsureModel(ctx context.Context, model string) error {
	w := c.config.Limits.model(model)
	if _, err := c.apply(ctx, &w); err != nil {
		return err
	}
	c.keeper.know(model)
	return nil
}

// AckWait is how long a task of a model is left to a worker that no longer says that
// it works on it: the least that its consumers have.
func (c *Connection) AckWait(ctx context.Context, model string) (time.Duration, error) {
	least := time.Duration(0)
	for level := 1; level <= Levels; level++ {
		consumer, err := c.js.Consumer(ctx, StepStream(model), StepConsumer(level))
		if err != nil {
			return 0, Failure(err)
		}
		if own := consumer.CachedInfo().Config.AckWait; least == 0 || own < least {
			least = own
		}
	}
	return least, nil
}

// all is everything that must be there, and the queues of models that are there.
func (c *Connection) all(ctx context.Context) ([]wanted, error) {
	all := c.config.Limits.shared()
	list := c.js.ListStreams(ctx, jetstream.WithStreamListSubject("triptych.step.>"))
	for info := range list.Info() {
		if model, ok := info.Config.Metadata[ModelKey]; ok && info.Config.Name == StepStream(model) {
			all = append(all, c.config.Limits.model(model))
		}
	}
	if err := list.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return nil, Failure(err)
	}
	slices.SortStableFunc(all[len(c.config.Limits.shared()):], func(a, b wanted) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// missing tells whether something that must be there is not.
func (c *Connection) missing(ctx context.Context, models []string) (bool, error) {
	there := map[string]bool{}
	list := c.js.StreamNames(ctx)
	for name := range list.Name() {
		there[name] = true
	}
	if err := list.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return false, Failure(err)
	}
	for _, w := range c.config.Limits.shared() {
		if !there[w.Name] {
			return true, nil
		}
	}
	return slices.ContainsFunc(models, func(model string) bool { return !there[StepStream(model)] }), nil
}
