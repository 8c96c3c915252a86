package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"triptych/cli/client"
	"triptych/cli/style"
	"triptych/shared/failure"
)

// stay watches a job until it has ended, and writes its results to a file if that has
// a name. It fails unless all items succeeded.
func (f *follower) stay(ctx context.Context, streams Streams, id, file string) error {
	begin := time.Now()
	job, err := f.watch(ctx, streams, id, file)
	f.bar.Clear()
	if err != nil {
		return f.goesOn(ctx, id, err)
	}
	if err := f.ended(streams, job, file, time.Since(begin)); err != nil {
		return err
	}
	return f.flags.unsuccessful(job)
}

// watch shows the job beside its results. Who fails ends the other.
func (f *follower) watch(ctx context.Context, streams Streams, id, file string) (client.Job, error) {
	show := func(job client.Job) { f.show(jobState(job)) }
	if file == "" {
		return f.client.Watch(ctx, id, f.patience(), show)
	}
	if file == "-" && style.Terminal(streams.Out) {
		show = func(client.Job) {} // the results are in the bar's place
	}
	out, err := openResults(streams.Out, file, false)
	if err != nil {
		return client.Job{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wrote := make(chan error, 1)
	go func() {
		err := f.client.Results(ctx, id, client.Wanted{Follow: true}, f.patience(), out.write)
		if err != nil {
			cancel(err)
		}
		wrote <- err
	}()
	job, err := f.client.Watch(ctx, id, f.patience(), show)
	if err != nil {
		cancel(err)
	}
	// The first failure is the cause of the other.
	if werr := <-wrote; werr != nil || err != nil {
		err = context.Cause(ctx)
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return job, err
}

// ended says how a job went.
func (f *follower) ended(streams Streams, job client.Job, file string, took time.Duration) error {
	out := streams.Out
	if file == "-" {
		out = streams.Err // the results have the other
	}
	if f.flags.output == "json" {
		if file == "-" {
			return nil
		}
		_, err := fmt.Fprintln(out, string(job.Raw))
		return err
	}
	return writeEnd(out, job, took)
}

func writeEnd(w io.Writer, job client.Job, took time.Duration) error {
	if created, err := time.Parse(time.RFC3339Nano, job.Created); err == nil {
		if ended, err := time.Parse(time.RFC3339Nano, job.Ended); err == nil {
			took = ended.Sub(created) // both by one clock
		}
	}
	others := otherCounts(job.Counts)
	if others != "" {
		others = ", " + others
	}
	_, err := fmt.Fprintf(w, "job %s is %s after %s: %d of %d succeeded%s\n", job.ID, job.State, took.Round(time.Millisecond), job.Counts.Succeeded, job.Items, others)
	return err
}

// noResults is the failure of a file of results.
func noResults(err error, name string) error {
	return failure.Wrap(err, failure.Invalid, "%s can't be written: %s", name, reason(err))
}
