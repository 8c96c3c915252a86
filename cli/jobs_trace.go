package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/shared/failure"
)

// jobTraceFlags are the flags of triptych jobs trace.
type jobTraceFlags struct {
	serverFlags
	traceFlags
}

func newTrace(streams Streams) *cobra.Command {
	var flags jobTraceFlags
	cmd := &cobra.Command{
		Use:   "trace JOB [ITEM]",
		Short: "Draw where the time of one item went",
		Long: `Draws the trace of an item that has a result: its steps, each delivery of them, and
what the models did. Without ITEM it is the first, 0. With --output json the trace is
written as Jaeger's query API has it.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			item := 0
			if len(args) == 2 {
				var err error
				if item, err = itemNumber(args[1]); err != nil {
					return err
				}
			}
			return flags.run(cmd.Context(), streams, args[0], item)
		},
	}
	flags.serverFlags.register(cmd)
	flags.traceFlags.register(cmd)
	return cmd
}

func (f *jobTraceFlags) run(ctx context.Context, streams Streams, job string, item int) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := itemTrace(ctx, c, job, item)
	if err != nil {
		return err
	}
	t, err := f.read(ctx, f.server, id)
	if err != nil {
		return failure.Wrap(err, failure.NotFound, "%s", noTrace(err))
	}
	if f.output == "json" {
		return json.NewEncoder(streams.Out).Encode(t)
	}
	return f.draw(streams, t)
}

// itemTrace is the trace id of an item's last result.
func itemTrace(ctx context.Context, c *client.Client, job string, item int) (string, error) {
	var found *client.Result
	err := c.Results(ctx, job, client.Wanted{}, client.Patience{}, func(r client.Result) error {
		if r.End == "" && r.Item == item {
			found = &r
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case found == nil:
		return "", failure.New(failure.NotFound, "item %d of job %s has no result, which would name its trace", item, job)
	case found.TraceID == "":
		return "", failure.New(failure.NotFound, "item %d of job %s was never started: it has no trace", item, job)
	default:
		return found.TraceID, nil
	}
}
