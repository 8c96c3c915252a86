package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/progress"
	"triptych/shared/config"
	"triptych/shared/failure"
)

func newJobs(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Classify many images without waiting for them, and see what became of them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSubmit(streams), newList(streams), newGet(streams), newResults(streams), newWatch(streams), newTrace(streams),
		newCancel(streams))
	return cmd
}

// followFlags are what commands have that stay with a job.
type followFlags struct {
	serverFlags
	retry time.Duration
	quiet bool
}

func (f *followFlags) register(cmd *cobra.Command) {
	f.serverFlags.register(cmd)
	cmd.Flags().DurationVar(&f.retry, "retry", 2*time.Minute, "How long to try again while the gateway is busy or away")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "Show no progress")
}

// follower stays with a job and shows it.
type follower struct {
	flags  *followFlags
	client *client.Client
	bar    *progress.Bar
}

func (f *followFlags) follower(streams Streams) (*follower, error) {
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	return &follower{flags: f, client: c, bar: progress.New(streams.Err)}, nil
}

// patience tries again, and says so.
func (f *follower) patience() client.Patience {
	return client.Patience{For: f.flags.retry, Notice: func(err error, wait time.Duration) {
		f.note("%s; trying again in %s", explain(err), progress.Round(wait))
	}}
}

// note says something beside what is asked for.
func (f *follower) note(format string, args ...any) {
	if !f.flags.quiet {
		f.bar.Note(fmt.Sprintf(format, args...))
	}
}

func (f *follower) show(s progress.State) {
	if !f.flags.quiet {
		f.bar.Show(s)
	}
}

// command is how to ask more of a job.
func (f *serverFlags) command(words ...string) string {
	if f.server != "http://"+config.HTTPAddress {
		words = append(words, "--server", f.server)
	}
	return "triptych jobs " + strings.Join(words, " ")
}

// goesOn is what is said of a job when the command ends before it: the user has had
// enough, or the gateway is away. A job that there is not is neither.
func (f *follower) goesOn(ctx context.Context, id string, err error) error {
	how := "see it with: " + f.flags.command("watch", id)
	if ctx.Err() != nil {
		return failure.New(failure.Cancelled, "job %s goes on; %s", id, how)
	}
	if failure.KindOf(err).Retryable() {
		return failure.Wrap(err, failure.KindOf(err), "%s; job %s may go on; %s", explain(err), id, how)
	}
	return err
}

// unsuccessful is the failure of a job that has ended, if not all of it succeeded.
func (f *serverFlags) unsuccessful(job client.Job) error {
	if job.State == "cancelled" {
		return failure.New(failure.Cancelled, "job %s was cancelled: %d of %d items succeeded", job.ID, job.Counts.Succeeded, job.Items)
	}
	bad := job.Items - job.Counts.Succeeded
	if bad == 0 {
		return nil
	}
	return failure.New(failure.Invalid, "%d of %d items did not succeed (%s); see why with: %s", bad, job.Items, otherCounts(job.Counts), f.command("results", job.ID))
}

// otherCounts are those of what did not succeed.
func otherCounts(c client.Counts) string {
	var all []string
	for _, part := range jobParts(client.Job{Counts: c})[1:] {
		if part.N > 0 {
			all = append(all, fmt.Sprintf("%d %s", part.N, part.Name))
		}
	}
	return strings.Join(all, ", ")
}
