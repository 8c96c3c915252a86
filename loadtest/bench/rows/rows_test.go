package rows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
	"triptych/shared/testkit"

	"github.com/spf13/pflag"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// settings have no flags but those of all benchmarks.
type settings struct{ rows.Flags }

func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.Flags.RegisterFlags(fs)
	s.RegisterOutput(fs)
}

// run takes a table of three rows: one is good, one misses its bar, and the last
// one can't be taken.
func run(t *testing.T, args ...string) (status int, stdout, stderr, output string) {
	t.Helper()
	output = filepath.Join(t.TempDir(), "folder", "report.json")
	s := settings{rows.Flags{Rows: []int{1, 2, 3}, Last: 3, Rounds: 1, Window: time.Second, Output: output}}
	program := rows.Program{Name: "program", Flags: &s.Flags, Settings: &s, Notes: func() []string { return []string{"A note."} }, Rows: func(b *rows.Book) map[int]rows.Row {
		value := func(row int, v float64) rows.Row {
			return func(context.Context) error {
				b.Keep(figure.Sample{Row: row, Side: "ours", Name: "it", Value: v})
				b.Say("row %d is %v", row, v)
				b.Add(figure.Figure{Row: row, Name: "it", Ours: b.Median(row, "ours", "it", func(s figure.Sample) float64 { return s.Value }), Against: figure.Absolute, Bar: figure.AtMost(10)})
				return nil
			}
		}
		return map[int]rows.Row{1: value(1, 9), 2: value(2, 11), 3: func(context.Context) error { return errors.New("it rains") }}
	}}
	var out, errs bytes.Buffer
	status = program.Run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String(), output
}

func TestStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		status int
		stderr string
	}{
		"good":        {[]string{"--rows", "1", "--strict"}, rows.Good, "row 1 is 9"},
		"missed":      {[]string{"--rows", "1,2", "--strict"}, rows.Missed, "row 2 is 11"},
		"not strict":  {[]string{"--rows", "2"}, rows.Good, ""},
		"not run":     {nil, rows.NotRun, "program: row 3: it rains"},
		"wrong flag":  {[]string{"--rows", "0"}, rows.NotRun, "program: --rows has 0, must be from 1 to 3"},
		"no flag":     {[]string{"--no"}, rows.NotRun, "unknown flag"},
		"help":        {[]string{"--help"}, rows.Good, "--strict"},
		"no folder":   {[]string{"--output", "/dev/null/x"}, rows.NotRun, "make a folder for --output"},
		"no progress": {[]string{"--rounds", "0"}, rows.NotRun, "--rounds is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, stderr, _ := run(t, tt.args...)
			if status != tt.status || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, %q, want %d, %q", status, stderr, tt.status, tt.stderr)
			}
		})
	}
}

// A row that can't be taken costs only itself.
func TestTheReportIsThereAllTheSame(t *testing.T) {
	_, stdout, _, output := run(t)
	if !strings.Contains(stdout, "A note.") || !strings.Contains(stdout, "BAD") {
		t.Errorf("the table is\n%s", stdout)
	}
	data, err := os.ReadFile(output)
	var report figure.Report
	if err := errors.Join(err, json.Unmarshal(data, &report)); err != nil || len(report.Figures) != 2 || len(report.Samples) != 2 || report.Machine["cores"] == "" {
		t.Errorf("%v, %+v", err, report)
	}
	if _, err := os.Stat(output + ".log"); err != nil {
		t.Error(err)
	}
}
