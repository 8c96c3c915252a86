package stream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Status says of everything that must be there what Apply would do. It changes
// nothing.
func (c *Connection) Status(ctx context.Context) ([]Change, error) {
	all, err := c.all(ctx)
	if err != nil {
		return nil, err
	}
	var list []Change
	for _, w := range all {
		here, err := c.status(ctx, &w)
		if err != nil {
			return list, err
		}
		list = append(list, w.of(here)...)
	}
	return list, nil
}

func (c *Connection) status(ctx context.Context, w *wanted) ([]Change, error) {
	s, err := c.js.Stream(ctx, w.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return []Change{{Name: w.Name, State: Missing}}, nil
	}
	if err != nil {
		return nil, Failure(err)
	}
	info := s.CachedInfo()
	first := compared(w.Name, w.differences(&info.Config))
	first.Messages, first.Bytes, first.Limit = info.State.Msgs, info.State.Bytes, max(info.Config.MaxBytes, 0)
	list := []Change{first}
	for i := range w.consumers {
		cfg := &w.consumers[i]
		name := w.Name + "/" + cfg.Durable
		consumer, err := c.js.Consumer(ctx, w.Name, cfg.Durable)
		switch {
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			list = append(list, Change{Name: name, State: Missing})
		case err != nil:
			return list, Failure(err)
		default:
			list = append(list, compared(name, consumerDifferences(&consumer.CachedInfo().Config, cfg)))
		}
	}
	return list, nil
}

func compared(name string, found []difference) Change {
	if len(found) == 0 {
		return Change{Name: name, State: Left}
	}
	return Change{Name: name, State: Different, Detail: texts(found)}
}
