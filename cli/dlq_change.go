package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/shared/failure"
)

// changeFlags are those of commands that change dead letters: one, or all that match.
type changeFlags struct {
	serverFlags
	job, model string
	all        bool
}

func (f *changeFlags) register(cmd *cobra.Command) {
	f.serverFlags.register(cmd)
	cmd.Flags().StringVar(&f.job, "job", "", "All of this job")
	cmd.Flags().StringVar(&f.model, "model", "", "All of this model")
	cmd.Flags().BoolVar(&f.all, "all", false, "All there are")
}

// check wants one of: JOB ITEM, a filter, --all.
func (f *changeFlags) check(args []string) error {
	filtered := f.job != "" || f.model != ""
	switch {
	case len(args) == 1:
		return failure.New(failure.Invalid, "an item is named by JOB ITEM; all of a job are --job %s", args[0])
	case len(args) == 0 && !filtered && !f.all:
		return failure.New(failure.Invalid, "say which: JOB ITEM, --job, --model, or --all")
	case len(args) == 2 && (filtered || f.all), filtered && f.all:
		return failure.New(failure.Invalid, "say one of: JOB ITEM, --job or --model, --all")
	default:
		return nil
	}
}

// one changes the letter of one item; many those that a filter matches.
type (
	one  func(ctx context.Context, job string, item int) (int, error)
	many func(ctx context.Context, f client.Filter) (int, error)
)

// change does it, and says to how many.
func (f *changeFlags) change(ctx context.Context, streams Streams, args []string, done string, pick func(*client.Client) (one, many)) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	defer c.Close()
	one, many := pick(c)
	var n int
	if len(args) == 2 {
		item, err := itemNumber(args[1])
		if err != nil {
			return err
		}
		n, err = one(ctx, args[0], item)
		if err != nil {
			return err
		}
	} else if n, err = many(ctx, client.Filter{Job: f.job, Model: f.model}); err != nil {
		return err
	}
	if n == 0 && f.job != "" {
		// None of a job that there is not is a mistake.
		if _, err := c.Job(ctx, f.job); err != nil {
			return err
		}
	}
	if f.output == "json" {
		return json.NewEncoder(streams.Out).Encode(map[string]int{done: n})
	}
	_, err = fmt.Fprintf(streams.Out, "%s %s\n", counted(n, "dead letter"), done)
	return err
}

func newRequeue(streams Streams) *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "requeue [JOB ITEM]",
		Short: "Put items back that were given up: they are run again",
		Args:  cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			return flags.change(cmd.Context(), streams, args, "requeued", func(c *client.Client) (one, many) { return c.Requeue, c.RequeueMany })
		},
	}
	flags.register(cmd)
	return cmd
}

func newPurge(streams Streams) *cobra.Command {
	var flags changeFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge [JOB ITEM]",
		Short: "Delete dead letters: their items can't be put back any more",
		Long: `Deletes one dead letter, or all of --job or --model, at once and without a question;
--all needs --yes too. The items stay dead and can't be put back any more.`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args); err != nil {
				return err
			}
			if flags.all && !yes {
				return failure.New(failure.Invalid, "--all deletes every dead letter for good: say --yes too")
			}
			return flags.change(cmd.Context(), streams, args, "purged", func(c *client.Client) (one, many) { return c.Purge, c.PurgeMany })
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "Be sure of --all, which does nothing without it")
	return cmd
}
