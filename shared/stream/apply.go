package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

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
				return Change{Name: w.Name, State: Made, Limit: max(w.MaxBytes, 0)}, nil
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
	change := Change{Name: w.Name, State: Left, Messages: info.State.Msgs, Bytes: info.State.Bytes, Limit: max(w.MaxBytes, 0)}
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
