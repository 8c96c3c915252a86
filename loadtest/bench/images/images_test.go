package images

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/turns"
	"triptych/shared/testkit"
)

// From inside, so that one comparison can be had without the whole program. The
// test's binary is a side too.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == SideArgument {
		os.Exit(Run(context.Background(), os.Args[1:], nothing, os.Stdin, os.Stdout, os.Stderr))
	}
	testkit.Main(m)
}

func nothing(string) string { return "" }

func TestRunRefuses(t *testing.T) {
	samples := t.TempDir()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"row":     {[]string{"--rows", "9"}, "--rows has 9, must be from 1 to 8"},
		"rounds":  {[]string{"--samples", samples, "--rounds", "0"}, "--rounds is 0"},
		"window":  {[]string{"--samples", samples, "--window", "1ms"}, "--window is 1ms"},
		"samples": {[]string{"--samples", "/nowhere"}, "--samples is \"/nowhere\""},
		"flag":    {[]string{"--x"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := Run(t.Context(), tt.args, nothing, nil, &stdout, &stderr); status != rows.NotRun || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}

// What can't be measured is an error, and the report is there all the same.
func TestRunWithoutPillow(t *testing.T) {
	output := filepath.Join(t.TempDir(), "report.json")
	var stdout, stderr bytes.Buffer
	status := Run(t.Context(), []string{
		"--rows", "1", "--rounds", "1", "--window", "10ms", "--samples", testkit.Path(t, "testdata", "images"),
		"--python", "/nowhere/python", "--output", output,
	}, nothing, nil, &stdout, &stderr)
	if status != rows.NotRun || !strings.Contains(stderr.String(), "row 1: ") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	if info, err := os.Stat(output); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
	}
}

// bench makes a runner whose two sides are this test's binary.
func bench(t *testing.T) (b *runner, one, other *turns.Side) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b = &runner{Book: rows.NewBook(io.Discard, io.Discard), self: self, folder: t.TempDir()}
	b.Window, b.Rounds = 20*time.Millisecond, 3
	sides := make([]*turns.Side, 2)
	for i := range sides {
		if sides[i], err = b.startOurs(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := sides[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return b, sides[0], sides[1]
}

func TestCompare(t *testing.T) {
	b, one, other := bench(t)
	task := imageNet(testkit.Path(t, "testdata", "images", "cat.jpg"))
	if err := b.compare(1, "a cat", b.Rounds, one, task, rival{side: other, task: task, bar: figure.AtLeast(0.1)}); err != nil {
		t.Fatal(err)
	}
	f := b.Report.Figures[0]
	if f.Outcome() != figure.Good || f.Ours <= 0 || *f.Rival <= 0 || f.Ratio() != f.Paired {
		t.Errorf("figure %+v", f)
	}
	if n := len(b.Report.Samples); n != 2*b.Rounds {
		t.Errorf("%d samples", n)
	}
}

func TestOtherPixelsAreNotCompared(t *testing.T) {
	b, one, other := bench(t)
	task := imageNet(testkit.Path(t, "testdata", "images", "cat.jpg"))
	wrong := task
	wrong.Filter = "bilinear"
	err := b.compare(1, "a cat", b.Rounds, one, task, rival{side: other, task: wrong})
	if err == nil || !strings.Contains(err.Error(), "cat.jpg: our pixels are not those of ours") || len(b.Report.Figures) != 0 {
		t.Errorf("error %v", err)
	}
}

// A pair is spoilt together, so its ratio stands.
func TestJudge(t *testing.T) {
	turn := func(each float64) turns.Turn { return turns.Turn{Count: 10, CPU: each * 10 / 1e3} }
	f := judge([][2]turns.Turn{{turn(1), turn(3)}, {turn(10), turn(30)}, {turn(2), turn(4)}})
	if f.Ours != 500 || *f.Rival != 250 || f.Paired != 3 {
		t.Errorf("ours %v, theirs %v, paired %v", f.Ours, *f.Rival, f.Paired)
	}
}

func TestLastCore(t *testing.T) {
	for list, want := range map[string]string{"0-1": "1", "3": "3", "0,2-5,9": "9", "0-3,7-8": "8"} {
		if got, err := lastOf("Name:\tx\nCpus_allowed_list:\t" + list + "\nMems:\t0\n"); err != nil || got != want {
			t.Errorf("of %s: %q, %v", list, got, err)
		}
	}
	if _, err := lastOf("Name:\tx\n"); err == nil {
		t.Error("no list, no error")
	}
}

func TestPhotographsAreMadeOnce(t *testing.T) {
	b := &runner{folder: t.TempDir()}
	files, err := b.photographs(small, 2)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := b.photographs(small, 2)
	data, other := os.ReadFile(again[0])
	if err := errors.Join(err, other); err != nil || string(data) != "mine" {
		t.Errorf("made again: %v", err)
	}
}
