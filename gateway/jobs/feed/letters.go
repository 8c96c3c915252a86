package feed

import (
	"context"
	"strings"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/stream"
)

const (
	// letterAfter is how long whoever gives an item up may take to write its letter.
	letterAfter = 500 * time.Millisecond
	// letterWithin is how old a dead verdict may be whose letter is missing: an older
	// one was purged.
	letterWithin = 10 * time.Minute
)

// repairing looks, in a moment, at whether an item that died got its letter: its
// worker may have died between the two. The job does not end before.
func (t *term) repairing(j *job, items ...uint32) {
	first := len(j.died) == 0
	j.died = append(j.died, items...)
	if !first || len(j.died) == 0 {
		return
	}
	id := j.record.GetId()
	t.spawn(func(ctx context.Context) {
		for ctx.Err() == nil && !t.repaired(ctx, j, id) {
			pause(ctx, letterAfter)
		}
	})
}

// repaired tells whether there is nothing left to look at.
func (t *term) repaired(ctx context.Context, j *job, id string) bool {
	pause(ctx, letterAfter)
	t.mu.Lock()
	died := j.died
	t.mu.Unlock()
	if err := t.repair(ctx, id, died); err != nil {
		if ctx.Err() == nil {
			t.tel.Logger.Warn("dead letters can't be looked at now", "job", id, "error", err)
		}
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.nudge()
	j.died = j.died[len(died):]
	t.changed[id] = true
	return len(j.died) == 0
}

func (t *term) repair(ctx context.Context, id string, died []uint32) error {
	letters, err := t.letters(ctx, id)
	if err != nil {
		return err
	}
	for _, item := range died {
		if letters[item] {
			continue
		}
		v, _, err := t.store.Verdict(ctx, id, item)
		if err != nil {
			return err
		}
		if v.GetOutcome() != pb.Outcome_OUTCOME_DEAD || t.cfg.Now().Sub(time.UnixMilli(v.GetAtMs())) > letterWithin {
			continue
		}
		if err := t.store.RepairDead(ctx, id, item); err != nil {
			return err
		}
	}
	return nil
}

// letters are the items of a job that have a dead letter.
func (t *term) letters(ctx context.Context, id string) (map[uint32]bool, error) {
	subjects, err := t.store.Subjects(ctx, stream.Dead, stream.DeadSubject(id, "*"))
	if err != nil {
		return nil, err
	}
	letters := map[uint32]bool{}
	for subject := range subjects {
		if job, item, ok := stream.ItemOf(subject); ok && strings.EqualFold(job, id) {
			letters[item] = true
		}
	}
	return letters, nil
}
