package worker

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

// maxCancelled bounds the jobs that are known to be cancelled; the oldest are
// forgotten, and their tasks run for nothing.
const maxCancelled = 16 << 10

// cancelled knows the jobs whose tasks need not run. Safe for concurrent use.
type cancelled struct {
	mu    sync.Mutex
	known map[string]bool
	order []string
}

func (c *cancelled) has(job string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[job]
}

// set takes over whether a job is cancelled.
func (c *cancelled) set(job string, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !is {
		delete(c.known, job)
		return
	}
	if c.known == nil {
		c.known = map[string]bool{}
	}
	if c.known[job] {
		return
	}
	c.known[job] = true
	c.order = append(c.order, job)
	for len(c.order) > maxCancelled {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}

// watchAgain is the pause before the records are watched anew.
const watchAgain = time.Second

// watch follows the records of jobs until ctx ends.
func (c *cancelled) watch(ctx context.Context, store *jobs.Store, logger *slog.Logger) {
	var trouble telemetry.Trouble
	for ctx.Err() == nil {
		err := c.follow(ctx, store, trouble.Worked)
		if err != nil && ctx.Err() == nil {
			trouble.Failed(ctx, logger, "cancelled jobs can't be followed now", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

func (c *cancelled) follow(ctx context.Context, store *jobs.Store, begun func()) error {
	kv, err := store.Records(ctx)
	if err != nil {
		return err
	}
	watcher, err := kv.Watch(ctx, stream.JobRecords)
	if err != nil {
		return stream.Failure(err)
	}
	defer func() { _ = watcher.Stop() }()
	begun()
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watcher.Updates():
			if !ok {
				return nil
			}
			if entry != nil {
				c.take(entry)
			}
		}
	}
}

func (c *cancelled) take(entry jetstream.KeyValueEntry) {
	job := &pb.Job{}
	is := false
	if entry.Operation() == jetstream.KeyValuePut && proto.Unmarshal(entry.Value(), job) == nil {
		is = job.GetState() == pb.State_STATE_CANCELLING || job.GetState() == pb.State_STATE_CANCELLED
	}
	c.set(strings.TrimPrefix(entry.Key(), stream.JobRecord("")), is)
}
