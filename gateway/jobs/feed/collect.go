package feed

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// blobsEvery is how many looks lie between two at the object store, whose whole
// list has to be read, and at what deleted records leave behind.
const blobsEvery = 10

// collect deletes what nobody needs any longer, now and then.
func (t *term) collect(now time.Time) {
	if t.collecting || now.Sub(t.collected) < t.cfg.Collect {
		return
	}
	t.collecting, t.collected = true, now
	t.collections++
	all := t.collections%blobsEvery == 1
	t.spawn(func(ctx context.Context) {
		err := t.collectOnce(ctx, all)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.collecting = false
		if err != nil && ctx.Err() == nil {
			t.tel.Logger.Warn("what jobs left behind can't be deleted now", "error", err)
		}
	})
}

func (t *term) collectOnce(ctx context.Context, all bool) error {
	deleted, err := t.expired(ctx)
	if err != nil {
		return err
	}
	if err := t.strayVerdicts(ctx); err != nil {
		return err
	}
	if err := t.strayPages(ctx); err != nil {
		return err
	}
	if !all && !deleted {
		return nil
	}
	if err := t.strayBlobs(ctx); err != nil {
		return err
	}
	kv, err := t.store.Records(ctx)
	if err != nil {
		return err
	}
	return stream.Failure(kv.PurgeDeletes(ctx))
}

// expired deletes the jobs that ended longer ago than they are kept.
func (t *term) expired(ctx context.Context) (some bool, err error) {
	before := t.cfg.Now().Add(-t.store.Connection().Limits().Retention).UnixMilli()
	t.board.Each(func(s *board.Snapshot) bool {
		if ctx.Err() != nil || board.Open(s.Record) || s.Record.GetEndedMs() > before {
			return ctx.Err() == nil
		}
		some = true
		err = t.erase(ctx, s.Record.GetId(), before)
		return err == nil
	})
	return some, err
}

// erase deletes all of a job; its record last, so that an erasure that was cut
// short is done again.
func (t *term) erase(ctx context.Context, id string, before int64) error {
	kv, err := t.store.Records(ctx)
	if err != nil {
		return err
	}
	entry, err := kv.Get(ctx, stream.JobRecord(id))
	if err = stream.Failure(err); failure.KindOf(err) == failure.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	record := &pb.Job{}
	if err := proto.Unmarshal(entry.Value(), record); err != nil {
		return failure.Wrap(err, failure.Internal, "the record of a job can't be read")
	}
	if board.Open(record) || record.GetEndedMs() > before {
		return nil // opened again
	}
	if err := t.eraseTasks(ctx, record); err != nil {
		return err
	}
	for _, at := range [][2]string{
		{stream.Verdicts, stream.VerdictSubject(id, "*")},
		{stream.Dead, stream.DeadSubject(id, "*")},
		{stream.Inputs, stream.InputSubject(id, "*")},
		{stream.Notes, stream.NoteSubjects(id, "*")},
		{stream.Naks, stream.NakSubjects(id)},
	} {
		if err := t.store.Purge(ctx, at[0], at[1]); err != nil {
			return err
		}
	}
	if err := t.store.DropKey(ctx, record); err != nil {
		return err
	}
	err = stream.Failure(kv.Purge(ctx, stream.JobRecord(id), jetstream.LastRevision(entry.Revision())))
	if failure.KindOf(err) == failure.Conflict {
		return nil
	}
	if err == nil {
		t.erased(id)
		t.metrics.collected.WithLabelValues("job").Inc()
	}
	return err
}

// erased makes what workers still write of a job, whose tasks they had in hand, be
// deleted later.
func (t *term) erased(id string) {
	for _, in := range []string{stream.Verdicts, stream.Dead} {
		if t.orphans[in] == nil {
			t.orphans[in] = map[string]time.Time{}
		}
		t.orphans[in][id] = time.Now()
	}
}

// eraseTasks deletes what still waits to be run, such as after a cancellation while
// nobody served the model: it would be run, and leave verdicts of no job.
func (t *term) eraseTasks(ctx context.Context, record *pb.Job) error {
	plan, broken := t.store.Plan(record.GetPlan())
	if broken != nil {
		return nil //nolint:nilerr // It never had any.
	}
	for step, s := range plan.Steps() {
		err := t.store.Purge(ctx, stream.StepStream(s.Model), stream.StepSubjects(s.Model, record.GetId(), uint32(step)))
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	return nil
}

// strayPages deletes pages whose job was never accepted, or has ended.
func (t *term) strayPages(ctx context.Context) error {
	subjects, err := t.store.Subjects(ctx, stream.Inputs, stream.InputSubject("*", "*"))
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for subject := range subjects {
		if job, _, ok := stream.ItemOf(subject); ok {
			ids[job] = true
		}
	}
	for id := range ids {
		if err := t.clear(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range t.strays(ctx, "page", ids) {
		if err := t.store.Purge(ctx, stream.Inputs, stream.InputSubject(id, "*")); err != nil {
			return err
		}
		t.metrics.collected.WithLabelValues("pages").Inc()
	}
	return nil
}

// strayBlobs deletes objects whose job is not there.
func (t *term) strayBlobs(ctx context.Context) error {
	store, err := t.store.Connection().JetStream().ObjectStore(ctx, stream.Blobs)
	if err != nil {
		return stream.Failure(err)
	}
	objects, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return stream.Failure(err)
	}
	keys := map[string][]string{}
	ids := map[string]bool{}
	for _, o := range objects {
		id, _, _ := strings.Cut(o.Name, "/")
		ids[id] = true
		keys[id] = append(keys[id], o.Name)
	}
	for _, id := range t.strays(ctx, "blob", ids) {
		for _, key := range keys[id] {
			if err := t.store.Connection().DropBlob(ctx, key); err != nil {
				return err
			}
			t.metrics.collected.WithLabelValues("blob").Inc()
		}
	}
	return nil
}

// strays are those of the jobs that are not there, and were not for long: a job
// comes after all that belongs to it. The time is measured from when it was first
// noticed, by a clock that does not jump.
func (t *term) strays(ctx context.Context, what string, ids map[string]bool) []string {
	var unknown []string
	for id := range ids {
		if _, err := t.board.Job(id); failure.KindOf(err) == failure.NotFound {
			unknown = append(unknown, id)
		}
	}
	now := time.Now()
	seen := map[string]time.Time{}
	var strays []string
	for _, id := range unknown {
		first, known := t.orphans[what][id]
		if !known {
			first = now
		}
		if now.Sub(first) < t.cfg.Orphans {
			seen[id] = first
			continue
		}
		// Whoever is still about to create the job must not.
		void, err := t.store.Void(ctx, id)
		switch {
		case err != nil:
			seen[id] = first
		case void:
			strays = append(strays, id)
		}
	}
	t.orphans[what] = seen
	return strays
}
