package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/jobs/api"
)

const (
	// smallPart of the large job is what its memory is compared with.
	smallPart = 10
	// growth is what memory may differ by chance, in MiB: when garbage is collected.
	growth = 16
	// lists is how often a job is asked for and all are listed.
	lists = 20
)

// phase is one thing that is done to a large job.
type phase struct {
	name string
	do   func(*following, context.Context) error
}

// phases are all of them, in order.
func phases() []phase {
	return []phase{
		{"accepted", (*following).accept},
		{"followed", (*following).run},
		{"listed", (*following).list},
		{"cancelled", (*following).cancel},
		{"streamed", (*following).stream},
	}
}

// spent is what a phase took: seconds, and MiB of the gateway above idle.
type spent struct{ seconds, memory float64 }

// large is row 3: a job of very many tiny items, and one of a tenth of them.
func (b *runner) large(ctx context.Context) error {
	image, err := tiny()
	if err != nil {
		return err
	}
	small, err := b.atSize(ctx, image, b.many/smallPart)
	if err != nil {
		return err
	}
	large, err := b.atSize(ctx, image, b.many)
	if err != nil {
		return err
	}
	for i, p := range phases() {
		b.Add(figure.Figure{Row: 3, Name: fmt.Sprintf("%d items %s: memory more than with %d", b.many, p.name, b.many/smallPart), Unit: "MiB", Ours: large[i].memory - small[i].memory, Against: figure.Absolute, Bar: figure.AtMost(growth)})
		b.Add(figure.Figure{Row: 3, Name: fmt.Sprintf("%d items %s: time", b.many, p.name), Unit: "s", Ours: large[i].seconds, Rival: &small[i].seconds, Against: fmt.Sprintf("%d items", b.many/smallPart)})
	}
	return nil
}

// atSize takes a job of so many items through all phases on a new stack.
func (b *runner) atSize(ctx context.Context, image []byte, items int) (took []spent, err error) {
	return took, b.with(ctx, func(s *system) error {
		if err := b.serveFirst(ctx, s); err != nil {
			return err
		}
		idle, err := s.gateway().Memory()
		if err != nil {
			return err
		}
		f := &following{system: s, image: image, items: items, window: b.Window}
		defer f.leave()
		for _, p := range phases() {
			start := time.Now()
			memory, err := above(s.gateway().Process, idle, func() error { return p.do(f, ctx) })
			if err != nil {
				return fmt.Errorf("a job of %d items, %s: %w", items, p.name, err)
			}
			one := spent{time.Since(start).Seconds(), memory}
			took = append(took, one)
			b.Keep(figure.Sample{Row: 3, Side: jobsRoad, Name: fmt.Sprintf("%d %s, MiB above idle", items, p.name), Value: memory})
			b.Say("row 3  %6d items %-9s %6.2f s, the gateway had %.0f MiB more than idle", items, p.name, one.seconds, memory)
		}
		return nil
	})
}

// serveFirst has the gateway answer the sync road for a while. One that is in use holds
// as much garbage as it may (docs/adr/0026), whatever made it: only what comes on top
// tells of a job's size.
func (b *runner) serveFirst(ctx context.Context, s *system) error {
	t, err := b.callers(s)
	if err != nil {
		return err
	}
	return errors.Join(b.call(ctx, t, b.Window).Whole(), t.Close())
}

// following is a job with somebody who follows its results.
type following struct {
	*system
	image  []byte
	items  int
	window time.Duration

	job    string
	stop   context.CancelFunc
	ended  chan struct{} // nobody follows any more
	failed error         // set then
}

func (f *following) accept(ctx context.Context) error {
	job, err := f.jobs.Submit(ctx, model, api.NewForm([][]byte{f.image}, f.items))
	f.job = job.ID
	return err
}

// run lets the job run while its results are followed.
func (f *following) run(ctx context.Context) error {
	follow, stop := context.WithCancel(ctx)
	f.stop, f.ended = stop, make(chan struct{})
	go func() {
		defer close(f.ended)
		f.failed = f.all(follow)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.window):
		return nil
	}
}

// all wants a result for each item.
func (f *following) all(ctx context.Context) error {
	items, err := f.jobs.Results(ctx, f.job)
	if err == nil && items != f.items {
		err = fmt.Errorf("%d items had %d results", f.items, items)
	}
	return err
}

func (f *following) list(ctx context.Context) error {
	for range lists {
		if _, err := f.jobs.Job(ctx, f.job); err != nil {
			return err
		}
		if _, err := f.jobs.List(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cancel cancels the job, and waits until who follows has heard of each item.
func (f *following) cancel(ctx context.Context) error {
	if err := f.jobs.Cancel(ctx, f.job); err != nil {
		return err
	}
	if _, err := f.jobs.End(ctx, f.job, poll); err != nil {
		return err
	}
	select {
	case <-f.ended:
		return f.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream reads all results once more.
func (f *following) stream(ctx context.Context) error { return f.all(ctx) }

// leave ends what still follows.
func (f *following) leave() {
	if f.stop == nil {
		return
	}
	f.stop()
	<-f.ended
}
