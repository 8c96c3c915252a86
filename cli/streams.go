package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triptych/cli/progress"
	"triptych/cli/style"
	"triptych/cli/table"
	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
)

// streamsFlags are what every command about streams has.
type streamsFlags struct {
	stream  stream.Config
	output  string
	timeout time.Duration
	verbose bool
}

func newStreams(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "Make and look at the streams that jobs are kept in",
		Long: `Works on the streams, buckets and consumers of jobs in NATS. The gateway makes them
too, and changes them to its own limits when it starts: give both the same flags.
Each flag has a twin in the environment, such as TRIPTYCH_NATS_URL.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(
		newStreamsCommand(streams, "apply", "Make what is missing and change what differs from the flags",
			(*stream.Connection).Apply, func([]stream.Change) error { return nil }),
		newStreamsCommand(streams, "status", "Say what apply would make and change; status 1 when there is something",
			(*stream.Connection).Status, asWanted),
	)
	return cmd
}

func newStreamsCommand(streams Streams, use, short string, act func(*stream.Connection, context.Context) ([]stream.Change, error), judge func([]stream.Change) error) *cobra.Command {
	flags := streamsFlags{stream: stream.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changes, err := flags.run(cmd.Context(), act)
			if werr := flags.write(streams.Out, changes); err == nil {
				err = werr
			}
			if err != nil {
				return err
			}
			return judge(changes)
		},
	}
	flags.stream.RegisterFlags(cmd.Flags())
	hide(cmd.Flags(), "jobs-inline-bytes", "jobs-retention") // no stream is made by them
	cmd.Flags().StringVar(&flags.output, "output", "text", "Form of the answer: text, json")
	cmd.Flags().BoolVar(&flags.verbose, "verbose", false, "Show consumers too of which there is nothing to say")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 30*time.Second, "How long it may take, and NATS may be away")
	return cmd
}

func (f *streamsFlags) run(ctx context.Context, act func(*stream.Connection, context.Context) ([]stream.Change, error)) ([]stream.Change, error) {
	if f.output != "text" && f.output != "json" {
		return nil, config.Wrong("output", "is %q, must be text or json", f.output)
	}
	if err := f.stream.Validate(); err != nil {
		return nil, err
	}
	if !f.stream.Enabled() {
		return nil, config.Wrong("nats-url", "is not given; `triptych up --nats-address 127.0.0.1:4222` has --nats-url nats://127.0.0.1:4222")
	}
	conn, err := stream.Connect(f.stream, "cli", telemetry.Discard())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := conn.Await(ctx); err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "NATS at %s was not reached within %s: %s", f.stream.Servers(), f.timeout, err)
	}
	return act(conn, ctx)
}

// asWanted is the failure of streams that are not as the flags say.
func asWanted(changes []stream.Change) error {
	other := 0
	for _, c := range changes {
		if c.State != stream.Left {
			other++
		}
	}
	if other == 0 {
		return nil
	}
	return failure.New(failure.Conflict, "%d of %d are not as these flags say: `triptych streams apply` changes that", other, len(changes))
}

func (f *streamsFlags) write(w io.Writer, changes []stream.Change) error {
	if f.output == "json" {
		if changes == nil {
			return nil
		}
		return json.NewEncoder(w).Encode(changes)
	}
	if len(changes) == 0 {
		return nil
	}
	return writeChanges(w, changes, f.verbose)
}

func writeChanges(w io.Writer, changes []stream.Change, verbose bool) error {
	t := table.New(style.For(w), "STREAM", "STATE", "MESSAGES", "BYTES", "LIMIT", "CHANGE")
	hidden := 0
	for _, c := range changes {
		if !verbose && c.State == stream.Left && consumer(c) {
			hidden++
			continue
		}
		addChange(t, c)
	}
	if err := t.Write(w); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if hidden == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %s as it should be: --verbose shows all\n", counted(hidden, "consumer"))
	return err
}

func addChange(t *table.Table, c stream.Change) {
	state := table.Cell{Text: c.State, Color: stateColor(c.State)}
	none := table.Text("")
	if consumer(c) {
		t.Row(table.Text(shownStream(c)), state, none, none, none, table.Text(c.Detail))
		return
	}
	limit := none
	if c.Limit > 0 {
		limit.Text = progress.Bytes(c.Limit)
	}
	t.Row(table.Text(shownStream(c)), state, table.Text(strconv.FormatUint(c.Messages, 10)),
		table.Text(progress.Bytes(int64(min(c.Bytes, math.MaxInt64)))), limit, table.Text(c.Detail))
}

// consumer tells whether it is one, and no stream.
func consumer(c stream.Change) bool { return strings.Contains(c.Name, "/") }

// shownStream is a name with the model's as people write it.
func shownStream(c stream.Change) string {
	if c.Model == "" {
		return c.Name
	}
	return strings.Replace(c.Name, stream.Token(c.Model), shown(c.Model), 1)
}

// stateColor shows what was or must be done.
func stateColor(state string) style.Color {
	switch state {
	case stream.Made, stream.Changed:
		return style.Green
	case stream.Missing, stream.Different:
		return style.Red
	default:
		return ""
	}
}
