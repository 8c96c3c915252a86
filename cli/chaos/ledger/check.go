package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
)

// readWithin bounds how often what is stored is read anew.
const readWithin = 30 * time.Second

// Check compares what was accepted with what is stored in NATS and with what a
// gateway tells. All jobs must have ended.
func (l *Ledger) Check(ctx context.Context, url string) *Stored {
	l.tb.Helper()
	stored, err := Read(ctx, url)
	for begin := time.Now(); err != nil; stored, err = Read(ctx, url) {
		if time.Since(begin) > readWithin { // a server that has just come back may say no
			l.tb.Errorf("what is stored can't be read: %v", err)
			return &Stored{}
		}
		time.Sleep(pause)
	}
	for _, fault := range l.faults(stored) {
		l.tb.Error(fault)
	}
	if err := l.compare(ctx, stored); err != nil {
		l.tb.Error(err)
	}
	return stored
}

// faults are what is wrong with what is stored, as far as it fits into one's head.
func (l *Ledger) faults(s *Stored) []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []error
	add := func(format string, args ...any) {
		if len(faults) < 20 {
			faults = append(faults, fmt.Errorf(format, args...)) //nolint:err113 // a test's findings
		}
	}
	for _, d := range s.double {
		add("two messages: %s", d)
	}
	items := uint64(0)
	for id, record := range s.Records {
		items += uint64(record.GetItems())
		for n := range record.GetItems() {
			if s.verdicts[itemOf{id, n}] == nil {
				add("item %d of job %s has no verdict", n, id)
			}
		}
	}
	if want := items + 2*l.requeued; s.published != want {
		add("the verdict stream has taken %d messages for %d items with %d put back, want %d: some have more than one, or belong to no job", s.published, items, l.requeued, want)
	}
	for id, job := range l.accepted {
		if record := s.Records[id]; record == nil || int(record.GetItems()) != len(job.Items) {
			add("job %s was accepted with %d items, its record has %d", id, len(job.Items), record.GetItems())
			continue
		}
		for n, item := range job.Items {
			if err := s.right(itemOf{id, uint32(n)}, item); err != nil { //nolint:gosec // few items
				add("item %d of job %s: %w", n, id, err)
			}
		}
	}
	for at, v := range s.verdicts {
		if dead := v.GetOutcome() == pb.Outcome_OUTCOME_DEAD; dead != (s.dead[at] != nil) {
			add("item %d of job %s is %s, and has a dead letter: %t", at.item, at.job, jobs.OutcomeName(v.GetOutcome()), !dead)
		}
	}
	return faults
}

// right tells what is wrong with the verdict of an item.
func (s *Stored) right(at itemOf, item Item) error {
	v := s.verdicts[at]
	if v == nil {
		return errors.New("no verdict")
	}
	if !item.fits(v.GetOutcome()) {
		return fmt.Errorf("it is %s, want %s: %s", jobs.OutcomeName(v.GetOutcome()), jobs.OutcomeName(item.want()), v.GetError().GetMessage())
	}
	if v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED {
		return nil
	}
	p, err := best(v.GetResponse())
	if err == nil && !item.is(p) {
		err = fmt.Errorf("it has the answer of another: %+v", p)
	}
	return err
}

// compare asks a gateway for everything that it tells of jobs, and holds it against
// what is stored.
func (l *Ledger) compare(ctx context.Context, s *Stored) error {
	for id, record := range s.Records {
		if err := l.compareJob(ctx, s, record); err != nil {
			return fmt.Errorf("job %s: %w", id, err)
		}
	}
	letters, err := l.letters(ctx)
	if err != nil {
		return err
	}
	for _, letter := range letters {
		if s.dead[itemOf{letter.Job, letter.Item}] == nil {
			return fmt.Errorf("a dead letter is listed that is not stored: %+v", letter)
		}
	}
	if len(letters) != len(s.dead) {
		return fmt.Errorf("%d dead letters are listed, %d are stored", len(letters), len(s.dead))
	}
	return nil
}

func (l *Ledger) compareJob(ctx context.Context, s *Stored, record *pb.Job) error {
	counts := map[string]uint32{}
	results, err := l.Results(ctx, record.GetId())
	if err != nil {
		return err
	}
	seen := map[uint32]bool{}
	for _, r := range results {
		v := s.verdicts[itemOf{record.GetId(), r.Item}]
		if seen[r.Item] || v == nil || jobs.OutcomeName(v.GetOutcome()) != r.State {
			return fmt.Errorf("result %+v, twice: %t, its verdict is %s", r, seen[r.Item], jobs.OutcomeName(v.GetOutcome()))
		}
		seen[r.Item] = true
		counts[r.State]++
		if err := l.compareResult(record.GetId(), r); err != nil {
			return err
		}
	}
	status, err := l.Status(ctx, record.GetId())
	if err != nil {
		return err
	}
	if len(results) != int(record.GetItems()) || status.Counts["pending"] != 0 {
		return fmt.Errorf("%d results of %d items, %d are said to be pending", len(results), record.GetItems(), status.Counts["pending"])
	}
	for state, n := range status.Counts {
		if n != counts[state] {
			return fmt.Errorf("%d items are said to be %s, %d are", n, state, counts[state])
		}
	}
	return nil
}

func (l *Ledger) compareResult(id string, r Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	job, ok := l.accepted[id]
	if !ok || r.State != "succeeded" { // of a job of which no client knows
		return nil
	}
	if len(r.Predictions) == 0 || !job.Items[r.Item].is(r.Predictions[0]) {
		return fmt.Errorf("result %+v has the answer of another", r)
	}
	return nil
}
