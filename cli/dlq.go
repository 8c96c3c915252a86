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
	"triptych/shared/failure"
)

func newDLQ(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "See the items of jobs that were given up, put them back, or forget them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLetters(streams), newLetter(streams), newRequeue(streams), newPurge(streams))
	return cmd
}

func newLetters(streams Streams) *cobra.Command {
	var flags listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listLetters(cmd.Context(), streams, &flags)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.Job, "job", "", "Only those of this job")
	return cmd
}

func listLetters(ctx context.Context, streams Streams, flags *listFlags) error {
	c, err := flags.client()
	if err != nil {
		return err
	}
	defer c.Close()
	letters := []json.RawMessage{}
	s := style.For(streams.Out)
	t := table.New(s, "JOB", "ITEM", "NAME", "MODEL", "STEP", "ATTEMPTS", "TIME", "REASON")
	next, err := flags.pages(func(f client.Filter) (int, string, error) {
		page, err := c.DeadLetters(ctx, f)
		for _, l := range page.Letters {
			if flags.output == "json" {
				letters = append(letters, l.Raw)
				continue
			}
			t.Row(table.Text(l.Job), table.Text(strconv.Itoa(l.Item)), table.Text(shown(l.Name)), table.Text(shown(l.Model)), table.Text(shown(l.Step)),
				table.Text(strconv.Itoa(l.Attempts)), table.Text(when(l.Time)), table.Cell{Text: shown(l.Reason.Message), Color: style.Red})
		}
		return len(page.Letters), page.Next, err
	})
	if err != nil {
		return err
	}
	if flags.output == "json" {
		return writePage(streams.Out, "dead_letters", letters, next)
	}
	return writeTable(streams, t, "no dead letters", next)
}

func newLetter(streams Streams) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "show JOB ITEM",
		Short: "Show why an item was given up",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			item, err := itemNumber(args[1])
			if err != nil {
				return err
			}
			c, err := flags.client()
			if err != nil {
				return err
			}
			defer c.Close()
			letter, err := c.DeadLetter(cmd.Context(), args[0], item)
			if err != nil {
				return err
			}
			if flags.output == "json" {
				_, err := fmt.Fprintln(streams.Out, string(letter.Raw))
				return err
			}
			return writeLetter(streams.Out, letter)
		},
	}
	flags.register(cmd)
	return cmd
}

func writeLetter(w io.Writer, l client.Letter) error {
	for _, line := range [][2]string{
		{"job", l.Job},
		{"item", strconv.Itoa(l.Item)},
		{"name", l.Name},
		{"model", l.Model},
		{"step", l.Step},
		{"reason", l.Reason.Message},
		{"code", l.Reason.Code},
		{"attempts", strconv.Itoa(l.Attempts)},
		{"time", when(l.Time)},
		{"trace", l.TraceID},
	} {
		if line[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-9s %s\n", line[0], shown(line[1])); err != nil {
			return err
		}
	}
	return nil
}

// itemNumber reads the number of an item.
func itemNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, failure.Wrap(err, failure.Invalid, "%q is not the number of an item", text)
	}
	return int(n), nil //nolint:gosec // 31 bits fit
}
