package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"triptych/cli/style"
	"triptych/cli/table"
	"triptych/shared/oip"
)

// write shows what was seen.
func (s *seen) write(streams Streams, form string) error {
	if form == "json" {
		return json.NewEncoder(streams.Out).Encode(s)
	}
	look := style.For(streams.Out)
	s.writeHead(streams.Out, look)
	t := table.New(look, "CHANNEL", "MIN", "MAX", "MEAN")
	for _, c := range s.Channels {
		t.Row(table.Text(c.Name), table.Text(short(c.Min)), table.Text(short(c.Max)), table.Text(short(c.Mean)))
	}
	fmt.Fprintln(streams.Out)
	if err := t.Write(streams.Out); err != nil {
		return err
	}
	s.writeFiles(streams.Out)
	return nil
}

func (s *seen) writeHead(w io.Writer, look style.Style) {
	line := func(name, text string) { fmt.Fprintf(w, "%s %s\n", look.Bold(fmt.Sprintf("%-9s", name)), text) }
	line("file", s.File)
	line("model", s.Model+", version "+s.Version)
	if s.Decoder != "" {
		line("decoder", s.Decoder)
	}
	if s.Resampler != "" {
		line("resampler", s.Resampler)
	}
	line("tensor", fmt.Sprintf("%s %s %s", s.Output, s.Datatype, oip.FormatShape(s.Shape)))
	line("sha256", look.Paint(style.Green, s.SHA256))
	for _, b := range s.Beside {
		values := make([]string, len(b.Values))
		for i, v := range b.Values {
			values[i] = short(v)
		}
		line(b.Name, strings.Join(values, " "))
	}
}

func (s *seen) writeFiles(w io.Writer) {
	if s.NPY != "" || s.PNG != "" {
		fmt.Fprintln(w)
	}
	if s.NPY != "" {
		fmt.Fprintf(w, "%s has the tensor: numpy.load(%q)\n", s.NPY, s.NPY)
	}
	switch {
	case s.PNG == "":
	case !s.Undone:
		fmt.Fprintf(w, "%s shows the tensor from its least to its greatest number: the server does not say how it was normalised\n", s.PNG)
	case s.Datatype == "UINT8":
		fmt.Fprintf(w, "%s shows what the model sees\n", s.PNG)
	default:
		fmt.Fprintf(w, "%s shows what the model sees, with scale, mean and std undone\n", s.PNG)
	}
}

// short is a number with six digits at most.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
