package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// The states of a stream or a consumer after Apply.
const (
	Made    = "made"
	Changed = "changed"
	Left    = "as it was"
	// Missing and Different are what Status says of what Apply would make or change.
	Missing   = "missing"
	Different = "different"
)

// Change says what became of one stream or consumer.
type Change struct {
	// Name is the stream's, and after a slash the consumer's.
	Name  string `json:"name"`
	State string `json:"state"`
	// Detail names the fields that were or would be changed, with both values.
	Detail string `json:"detail,omitempty"`
	// Messages and Bytes are what a stream holds.
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
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
		changes = append(changes, done...)
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

// apply makes one stream with its consumers as it must be.
func (c *Connection) apply(ctx context.Context, w *wanted) ([]Change, error) {
	change, err := c.applyStream(ctx, w)
	if err != nil {
		return nil, err
	}
	changes := []Change{change}
	for i := range w.consumers {
		change, err := c.applyConsumer(ctx, w, &w.consumers[i])
		if err != nil {
			return changes, err
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// turns bounds how often something is looked at anew because another made or deleted
// it meanwhile.
const turns = 5

func (c *Connection) applyStream(ctx context.Context, w *wanted) (Change, error) {
	var err error
	for range turns {
		var s jetstream.Stream
		s, err = c.js.Stream(ctx, w.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			if _, err = c.js.CreateStream(ctx, w.StreamConfig); err == nil {
				return Change{Name: w.Name, State: Made}, nil
			}
		case err == nil:
			return c.changeStream(ctx, w, s.CachedInfo())
		}
		if !raced(err) && !c.crowded(ctx, err) {
			break
		}
	}
	return Change{}, c.unmade(w.what(), w, err)
}

// crowded waits a moment when NATS has no room for a stream: while several make the
// same one, it sets the room aside for each of them.
func (c *Connection) crowded(ctx context.Context, err error) bool {
	const moment = 50 * time.Millisecond
	if !exceeded(err) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(moment):
		return true
	}
}

// exceeded tells whether NATS has no room left to set aside.
func exceeded(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == codeStorageExceeded || api.ErrorCode == codeMemoryExceeded || api.ErrorCode == codeInsufficientResources)
}

// raced tells whether somebody else has made or deleted it meanwhile.
func raced(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) ||
		errors.Is(err, jetstream.ErrConsumerExists) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrConsumerDoesNotExist)
}

func (c *Connection) changeStream(ctx context.Context, w *wanted, info *jetstream.StreamInfo) (Change, error) {
	change := Change{Name: w.Name, State: Left, Messages: info.State.Msgs, Bytes: info.State.Bytes}
	found := w.differences(&info.Config)
	if err := incompatible(w.what(), found); err != nil {
		return change, err
	}
	if len(found) == 0 || c.config.Follow {
		return change, nil
	}
	if _, err := c.js.UpdateStream(ctx, w.adapted(info.Config)); err != nil {
		return change, c.unmade(w.what(), w, err)
	}
	change.State, change.Detail = Changed, texts(found)
	return change, nil
}

func (c *Connection) applyConsumer(ctx context.Context, w *wanted, cfg *jetstream.ConsumerConfig) (Change, error) {
	name := w.Name + "/" + cfg.Durable
	var err error
	for range turns {
		var consumer jetstream.Consumer
		consumer, err = c.js.Consumer(ctx, w.Name, cfg.Durable)
		switch {
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			if _, err = c.js.CreateConsumer(ctx, w.Name, *cfg); err == nil {
				return Change{Name: name, State: Made}, nil
			}
		case err == nil:
			return c.changeConsumer(ctx, w, cfg, consumer.CachedInfo())
		}
		if !raced(err) {
			break
		}
	}
	return Change{}, c.unmade("the consumer "+name, w, err)
}

func (c *Connection) changeConsumer(ctx context.Context, w *wanted, cfg *jetstream.ConsumerConfig, info *jetstream.ConsumerInfo) (Change, error) {
	name := w.Name + "/" + cfg.Durable
	change := Change{Name: name, State: Left}
	found := consumerDifferences(&info.Config, cfg)
	if err := incompatible("the consumer "+name, found); err != nil {
		return change, err
	}
	if len(found) == 0 || c.config.Follow {
		return change, nil
	}
	if _, err := c.js.UpdateConsumer(ctx, w.Name, adaptedConsumer(info.Config, cfg)); err != nil {
		return change, c.unmade("the consumer "+name, w, err)
	}
	change.State, change.Detail = Changed, texts(found)
	return change, nil
}

// unmade says what could not be made or changed, and what to do about it.
func (c *Connection) unmade(what string, w *wanted, err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return failure.Prefix(what+" can't be made or changed", Failure(err))
	}
	switch {
	case exceeded(err):
		where := "on its disk (max_file_store)"
		if w.Storage == jetstream.MemoryStorage {
			where = "in its memory (max_memory_store)"
		}
		return failure.Wrap(err, failure.Busy, "%s can't be made or changed: NATS has no %d bytes left %s; lower --%s, or give NATS more", what, w.MaxBytes, where, w.flag)
	case api.Code < 500:
		return failure.Wrap(err, failure.Conflict, "%s can't be made or changed: %s", what, api.Description)
	default:
		return failure.Prefix(what+" can't be made or changed", Failure(err))
	}
}
