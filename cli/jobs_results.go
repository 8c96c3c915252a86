package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/style"
	"triptych/cli/table"
	"triptych/shared/failure"
)

// resultsFlags are the flags of triptych jobs results.
type resultsFlags struct {
	followFlags
	client.Wanted
	top    int
	file   string
	resume bool
	// overwrite permits to lose what is in the file.
	overwrite bool
}

func newResults(streams Streams) *cobra.Command {
	var flags resultsFlags
	cmd := &cobra.Command{
		Use:   "results JOB",
		Short: "Show what became of a job's items, as they come, until the job has ended",
		Long: `Shows the results of a job as they come: a table, or with --output json a document a
line, each with a cursor; --cursor goes on behind one. With --file they are written
there. A file that is there already needs --overwrite, or --resume, which completes
it: half a line at its end is cut off, and what is missing is written behind the last
whole one. A connection that breaks is taken up where it broke.

The status is 0 when all that was wanted was written, whatever became of the items.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), streams, args[0])
		},
	}
	flags.followFlags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.Cursor, "cursor", "", "Begin behind the line with this cursor")
	f.BoolVar(&flags.Follow, "follow", true, "Wait for the results that are still to come")
	f.StringVar(&flags.Outcome, "outcome", "", "Only these: succeeded, failed, dead, cancelled, expired")
	f.IntVar(&flags.top, "top", 1, "How many labels of each image a table has")
	f.StringVar(&flags.file, "file", "", "File for the results, a JSON document a line")
	f.BoolVar(&flags.resume, "resume", false, "Go on with the --file of an earlier run")
	f.BoolVar(&flags.overwrite, "overwrite", false, "Begin the --file again, if there is one")
	return cmd
}

func (f *resultsFlags) run(ctx context.Context, streams Streams, id string) error {
	switch {
	case f.resume && f.file == "":
		return failure.New(failure.Invalid, "--resume goes only with --file")
	case f.overwrite && f.file == "":
		return failure.New(failure.Invalid, "--overwrite goes only with --file")
	case f.overwrite && f.resume:
		return failure.New(failure.Invalid, "say one of --resume and --overwrite")
	case f.resume && f.Cursor != "":
		return failure.New(failure.Invalid, "--resume has its cursor from the file: leave --cursor out")
	}
	follower, err := f.follower(streams)
	if err != nil {
		return err
	}
	defer follower.client.Close()
	if f.file != "" {
		return f.save(ctx, follower, streams, id)
	}
	write, flush := f.writer(streams.Out)
	if err := follower.client.Results(ctx, id, f.Wanted, follower.patience(), write); err != nil {
		return follower.goesOn(ctx, id, err)
	}
	return flush()
}

// writer writes results in the form that is wanted.
func (f *resultsFlags) writer(out io.Writer) (write func(client.Result) error, flush func() error) {
	if f.output == "json" {
		return func(r client.Result) error {
			_, err := fmt.Fprintln(out, string(r.Raw))
			return err
		}, func() error { return nil }
	}
	t := &resultTable{style: style.For(out), out: out, top: f.top}
	t.table = table.New(t.style, "ITEM", "NAME", "STATE", "LABEL", "SCORE", "CLASS", "MS", "ERROR")
	return t.write, t.flush
}

// save writes the results to a file.
func (f *resultsFlags) save(ctx context.Context, follower *follower, streams Streams, id string) error {
	if !f.resume && !f.overwrite && filled(f.file) {
		return failure.New(failure.Invalid, "%s is there already: say --resume to go on with it, or --overwrite", f.file)
	}
	out, err := openResults(streams.Out, f.file, f.resume)
	if err != nil {
		return err
	}
	if f.resume {
		f.Cursor = out.cursor
	}
	n := 0
	err = follower.client.Results(ctx, id, f.Wanted, follower.patience(), func(r client.Result) error {
		if r.End != "" && out.ended {
			return nil // it is there
		}
		if r.End == "" {
			n++
		}
		return out.write(r)
	})
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return follower.goesOn(ctx, id, err)
	}
	follower.note("%s written to %s", counted(n, "result"), f.file)
	return nil
}

// resultTable writes results in columns, as many at once as have come.
type resultTable struct {
	table *table.Table
	style style.Style
	out   io.Writer
	top   int
}

// mostRows bounds the rows that are laid out at once.
const mostRows = 256

func (t *resultTable) write(r client.Result) error {
	if r.End == "" {
		t.rows(r)
	}
	if r.Waiting && t.table.Rows() < mostRows {
		return nil
	}
	return t.flush()
}

func (t *resultTable) flush() error {
	if t.table.Rows() == 0 {
		return nil
	}
	return t.table.Write(t.out)
}

func (t *resultTable) rows(r client.Result) {
	state := table.Cell{Text: r.State, Color: style.Red}
	if r.State == "succeeded" {
		state.Color = style.Green
	}
	total := took(r)
	none := table.Text("")
	head := []table.Cell{table.Text(strconv.Itoa(r.Item)), table.Text(shown(r.Name)), state}
	if len(r.Predictions) == 0 {
		t.table.Row(append(head, table.Text(outputText(r)), none, none, table.Text(total), table.Text(errorText(r)))...)
		return
	}
	for _, p := range r.Predictions[:min(len(r.Predictions), max(t.top, 1))] {
		t.table.Row(append(head[:3:3], table.Text(shown(p.Label)), table.Text(fmt.Sprintf("%.4f", p.Score)), table.Text(strconv.Itoa(p.Class)), table.Text(total), none)...)
		head, total = []table.Cell{none, none, none}, "" // once for each image
	}
}

// took is how long an item waited and was worked on, in all of its steps.
func took(r client.Result) string {
	if len(r.Timings) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", r.Timings["total"])
}

// outputText is what a model answered that does not classify.
func outputText(r client.Result) string {
	all := make([]string, 0, len(r.Outputs))
	for _, o := range r.Outputs {
		all = append(all, fmt.Sprintf("%s %s%v", shown(o.Name), o.Datatype, o.Shape))
	}
	return strings.Join(all, ", ")
}

func errorText(r client.Result) string {
	if r.Error == nil {
		return ""
	}
	text := shown(r.Error.Message)
	if r.Step != "" {
		text += " (at " + shown(r.Step) + ")"
	}
	return text
}
