package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/style"
	"triptych/cli/table"
)

// listFlags are those of commands that list.
type listFlags struct {
	serverFlags
	client.Filter
}

// mostPage bounds what is asked for at once.
const mostPage = 100

func (f *listFlags) register(cmd *cobra.Command) {
	f.serverFlags.register(cmd)
	cmd.Flags().StringVar(&f.Model, "model", "", "Only those of this model")
	cmd.Flags().IntVar(&f.Limit, "limit", 20, "The most that are listed; 0 is all")
	cmd.Flags().StringVar(&f.Cursor, "cursor", "", "Go on where an earlier list ended")
}

// pages asks for parts of a list until there are as many as are wanted. Next tells
// where more of them are.
func (f *listFlags) pages(ask func(client.Filter) (n int, next string, err error)) (next string, err error) {
	part := f.Filter
	for left := f.Limit; ; {
		part.Limit = mostPage
		if f.Limit > 0 {
			part.Limit = min(left, mostPage)
		}
		n, next, err := ask(part)
		if err != nil || next == "" {
			return "", err
		}
		left -= n
		if f.Limit > 0 && left <= 0 {
			return next, nil
		}
		part.Cursor = next
	}
}

func newList(streams Streams) *cobra.Command {
	var flags listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listJobs(cmd.Context(), streams, &flags)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.State, "state", "", "Only those in this state: running, cancelling, done, cancelled")
	cmd.Flags().StringVar(&flags.Name, "name", "", "Only those with this name")
	return cmd
}

func listJobs(ctx context.Context, streams Streams, flags *listFlags) error {
	c, err := flags.client()
	if err != nil {
		return err
	}
	defer c.Close()
	jobs := []json.RawMessage{}
	s := style.For(streams.Out)
	t := table.New(s, "JOB", "NAME", "MODEL", "STATE", "ITEMS", "DONE", "NOT SUCCEEDED", "CREATED")
	next, err := flags.pages(func(f client.Filter) (int, string, error) {
		page, err := c.Jobs(ctx, f)
		for _, job := range page.Jobs {
			if flags.output == "json" {
				jobs = append(jobs, job.Raw)
				continue
			}
			addJob(t, job)
		}
		return len(page.Jobs), page.Next, err
	})
	if err != nil {
		return err
	}
	if flags.output == "json" {
		return writePage(streams.Out, "jobs", jobs, next)
	}
	return writeTable(streams, t, "no jobs", next)
}

func addJob(t *table.Table, job client.Job) {
	state := table.Cell{Text: job.State, Color: style.Green}
	if !job.Over() {
		state.Color = style.Cyan
	}
	bad := table.Cell{Text: strconv.Itoa(job.Done() - job.Counts.Succeeded)}
	if bad.Text != "0" {
		bad.Color = style.Red
	}
	t.Row(table.Text(job.ID), table.Text(shown(job.Name)), table.Text(shown(job.Model)), state,
		table.Text(strconv.Itoa(job.Items)), table.Text(strconv.Itoa(job.Done())), bad, table.Text(when(job.Created)))
}

// writePage writes a list as the gateway does.
func writePage(w io.Writer, name string, entries []json.RawMessage, next string) error {
	page := map[string]any{name: entries}
	if next != "" {
		page["next"] = next
	}
	return json.NewEncoder(w).Encode(page)
}

// writeTable writes a list, and where more of it is.
func writeTable(streams Streams, t *table.Table, none, next string) error {
	if t.Rows() == 0 {
		_, err := fmt.Fprintln(streams.Out, none)
		return err
	}
	if err := t.Write(streams.Out); err != nil {
		return err
	}
	if next != "" {
		fmt.Fprintf(streams.Err, "there are more: --cursor %s\n", next)
	}
	return nil
}
