package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"triptych/cli/client"
)

func newWatch(streams Streams) *cobra.Command {
	var flags followFlags
	var results string
	cmd := &cobra.Command{
		Use:   "watch JOB",
		Short: "Show how far a job has come, until it has ended",
		Long: `Shows a job's progress until it has ended. The status is 0 if all items succeeded.
To end the command does not end the job.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			follower, err := flags.follower(streams)
			if err != nil {
				return err
			}
			defer follower.client.Close()
			return follower.stay(cmd.Context(), streams, args[0], results)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&results, "results", "", "File for the results, a JSON document a line; - is standard output")
	return cmd
}

func newGet(streams Streams) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "get JOB",
		Short: "Show all that is known of a job",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			defer c.Close()
			job, err := c.Job(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if flags.output == "json" {
				_, err := fmt.Fprintln(streams.Out, string(job.Raw))
				return err
			}
			return writeJob(streams.Out, job)
		},
	}
	flags.register(cmd)
	return cmd
}

func newCancel(streams Streams) *cobra.Command {
	var flags followFlags
	var wait bool
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel a job: what has not begun is not run",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			follower, err := flags.follower(streams)
			if err != nil {
				return err
			}
			defer follower.client.Close()
			job, err := follower.client.Cancel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if wait && !job.Over() {
				job, err = follower.client.Watch(cmd.Context(), args[0], follower.patience(), func(job client.Job) { follower.show(jobState(job)) })
				follower.bar.Clear()
				if err != nil {
					return follower.goesOn(cmd.Context(), args[0], err)
				}
			}
			if flags.output == "json" {
				_, err := fmt.Fprintln(streams.Out, string(job.Raw))
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "job %s is %s\n", job.ID, job.State)
			return err
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "Stay until the job has ended")
	return cmd
}
