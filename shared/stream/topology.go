package stream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

const (
	// duplicates is the window in which a message's id is remembered.
	duplicates = 2 * time.Minute
	// notesFor is how long a note is kept: an item that waits longer for its other
	// parts is started again.
	notesFor   = time.Hour
	notesBytes = 256 << 20
	recordsMax = 256 << 20
	// ackPending bounds the tasks of one level that are with workers.
	ackPending = 1024
)

// Ensure makes the streams and buckets of all jobs, or changes those that are
// there to the present limits. It may be called by many at once, and again.
func (c *Connection) Ensure(ctx context.Context) error {
	for _, cfg := range c.config.Limits.streams() {
		if err := c.ensureStream(ctx, cfg); err != nil {
			return err
		}
	}
	return c.ensureBuckets(ctx)
}

// streams are the streams beside those of models.
func (l *Limits) streams() []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		{
			Name: Inputs, Description: "Inputs of jobs, as they were accepted.", Subjects: []string{InputSubject("*", "*")},
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxBytes: l.BacklogBytes, Replicas: l.Replicas, Duplicates: duplicates, AllowDirect: true,
		},
		{
			Name: Verdicts, Description: "What became of each item, once.", Subjects: []string{VerdictSubject("*", "*")}, MaxMsgsPerSubject: 1,
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxBytes: l.VerdictBytes, Replicas: l.Replicas, Duplicates: duplicates,
		},
		{
			Name: Dead, Description: "Items that were given up.", Subjects: []string{DeadSubject("*", "*")}, MaxMsgsPerSubject: 1,
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, MaxBytes: l.DeadBytes, Replicas: l.Replicas, Duplicates: duplicates,
		},
		{
			Name: Notes, Description: "What a running item must not forget.", Subjects: []string{"triptych.note.>"}, MaxMsgsPerSubject: 1, MaxAge: notesFor,
			Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew, MaxBytes: notesBytes, Replicas: l.Replicas, Duplicates: duplicates,
		},
	}
}

func (c *Connection) ensureBuckets(ctx context.Context) error {
	l := c.config.Limits
	if _, err := c.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: Records, Description: "Jobs, idempotency keys and who feeds.", Storage: jetstream.FileStorage, MaxBytes: recordsMax, Replicas: l.Replicas,
	}); err != nil {
		return c.unmade("the bucket "+Records, err)
	}
	for _, cfg := range []jetstream.ObjectStoreConfig{
		{Bucket: Blobs, Description: "Inputs and answers that are too large for a message.", Storage: jetstream.FileStorage, MaxBytes: l.BlobBytes},
		{Bucket: Uploads, Description: "Images that users put here and name in jobs.", Storage: jetstream.FileStorage, MaxBytes: l.BlobBytes},
		{Bucket: Tensors, Description: "Tensors between two steps.", Storage: jetstream.MemoryStorage, MaxBytes: notesBytes, TTL: notesFor},
	} {
		cfg.Replicas = l.Replicas
		if _, err := c.js.CreateOrUpdateObjectStore(ctx, cfg); err != nil {
			return c.unmade("the object store "+cfg.Bucket, err)
		}
	}
	return nil
}

// EnsureModel makes the queue of a model's tasks and its consumers, or changes
// them to the present limits.
func (c *Connection) EnsureModel(ctx context.Context, model string) error {
	l := c.config.Limits
	err := c.ensureStream(ctx, jetstream.StreamConfig{
		Name: StepStream(model), Description: "Tasks for the model " + model + ".", Subjects: []string{"triptych.step." + Token(model) + ".>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew,
		MaxBytes: l.StepBytes, MaxMsgs: l.StepMessages, Replicas: l.Replicas, Duplicates: duplicates,
		Metadata: map[string]string{"triptych-model": model},
	})
	if err != nil {
		return err
	}
	for level := 1; level <= Levels; level++ {
		_, err := c.js.CreateOrUpdateConsumer(ctx, StepStream(model), jetstream.ConsumerConfig{
			Durable: StepConsumer(level), FilterSubject: stepLevel(model, level), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: l.AckWait, MaxDeliver: -1, MaxAckPending: ackPending, MemoryStorage: true,
		})
		if err != nil {
			return c.unmade("the consumer "+StepConsumer(level)+" of "+StepStream(model), err)
		}
	}
	return nil
}

func (c *Connection) ensureStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	_, err := c.js.CreateOrUpdateStream(ctx, cfg)
	if err != nil {
		return c.unmade("the stream "+cfg.Name, err)
	}
	return nil
}

// unmade says what could not be made, and what to do when it is there and can't be
// changed.
func (c *Connection) unmade(what string, err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.Code < 500 {
		return failure.Wrap(err, failure.Conflict, "%s can't be made or changed: %s; if it is of another kind than is needed, delete it when no job is open, and start again", what, api.Description)
	}
	return failure.Prefix(what+" can't be made", Failure(err))
}
