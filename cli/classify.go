package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/style"
	"triptych/cli/table"
	"triptych/shared/failure"
)

// classifyFlags are the flags of triptych classify.
type classifyFlags struct {
	serverFlags
	traceFlags
	model string
	top   int
	trace bool
}

// classified is what came of one file.
type classified struct {
	File   string         `json:"file"`
	Answer *client.Answer `json:"answer,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// maxLabels is the most labels that a gateway gives.
const maxLabels = 1000

func newClassify(streams Streams) *cobra.Command {
	var flags classifyFlags
	cmd := &cobra.Command{
		Use:   "classify FILE...",
		Short: "Classify images, and show where the time of the last one went",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if flags.top < 1 || flags.top > maxLabels {
				return failure.New(failure.Invalid, "--top is %d, must be from 1 to %d", flags.top, maxLabels)
			}
			c, err := flags.client()
			if err != nil {
				return err
			}
			defer c.Close()
			results := classifyAll(cmd.Context(), c, flags, files)
			if err := flags.write(cmd.Context(), streams, results); err != nil {
				return err
			}
			return failed(results)
		},
	}
	flags.serverFlags.register(cmd)
	cmd.Flags().StringVar(&flags.model, "model", "classify", "The model, an ensemble of image bytes to labels")
	cmd.Flags().IntVar(&flags.top, "top", 3, "How many labels, 1 to 1000")
	cmd.Flags().BoolVar(&flags.trace, "trace", true, "Draw the trace of the last image")
	flags.traceFlags.register(cmd)
	return cmd
}

func classifyAll(ctx context.Context, c *client.Client, flags classifyFlags, files []string) []classified {
	results := make([]classified, len(files))
	for i, file := range files {
		results[i].File = file
		answer, err := classifyFile(ctx, c, flags, file)
		if err != nil {
			results[i].Error = explain(err)
			continue
		}
		results[i].Answer = &answer
	}
	return results
}

func classifyFile(ctx context.Context, c *client.Client, flags classifyFlags, file string) (client.Answer, error) {
	image, err := os.ReadFile(file)
	if err != nil {
		return client.Answer{}, failure.Wrap(err, failure.Invalid, "can't be read: %s", reason(err))
	}
	return c.Classify(ctx, flags.model, flags.top, image)
}

// reason is why a file can't be read, without its name.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func (f *classifyFlags) write(ctx context.Context, streams Streams, results []classified) error {
	if f.output == "json" {
		return json.NewEncoder(streams.Out).Encode(results)
	}
	s := style.For(streams.Out)
	if err := writeResults(streams, s, results); err != nil {
		return err
	}
	id := lastTrace(results)
	if !f.trace || id == "" {
		return nil
	}
	t, err := f.read(ctx, f.server, id)
	if err != nil {
		// The answers are there; the trace is a courtesy.
		fmt.Fprintln(streams.Err, noTrace(err))
		return nil
	}
	fmt.Fprintln(streams.Out)
	return f.draw(streams, t)
}

func writeResults(streams Streams, s style.Style, results []classified) error {
	t := table.New(s, "IMAGE", "LABEL", "SCORE", "CLASS", "MS")
	for _, r := range results {
		name := filepath.Base(r.File)
		if r.Answer == nil {
			t.Row(table.Text(name), table.Cell{Text: r.Error, Color: style.Red}, table.Text(""), table.Text(""), table.Text(""))
			continue
		}
		total := fmt.Sprintf("%.1f", r.Answer.Timings["total"])
		for _, p := range r.Answer.Results[0].Predictions {
			t.Row(table.Text(name), table.Text(p.Label), table.Cell{Text: fmt.Sprintf("%.4f", p.Score), Color: style.Green}, table.Text(strconv.Itoa(p.Class)), table.Text(total))
			name, total = "", "" // once for each image
		}
	}
	return t.Write(streams.Out)
}

func lastTrace(results []classified) string {
	for i := len(results) - 1; i >= 0; i-- {
		if results[i].Answer != nil {
			return results[i].Answer.TraceID
		}
	}
	return ""
}

func failed(results []classified) error {
	bad := 0
	for _, r := range results {
		if r.Answer == nil {
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	return failure.New(failure.Invalid, "%d of %d images were not classified", bad, len(results))
}
