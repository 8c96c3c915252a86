package progress_test

import (
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"triptych/cli/progress"
	"triptych/cli/style"
)

func job() progress.State {
	return progress.State{
		Total:   1000,
		Parts:   []progress.Part{{N: 410, Name: "succeeded", Color: style.Green}, {N: 6, Name: "failed"}, {N: 4, Name: "dead"}, {N: 0, Name: "expired"}},
		Details: []string{"210.0/s", "2.8s left"},
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state   progress.State
		columns int
		want    string
	}{
		"wide":            {job(), 200, "████████████████░░░░░░░░░░░░░░░░░░░░░░░░ 420/1000 42%  410 succeeded  6 failed  4 dead  210.0/s  2.8s left"},
		"a terminal":      {job(), 79, "█████░░░░░░░░ 420/1000 42%  410 succeeded  6 failed  4 dead  210.0/s  2.8s left"},
		"less":            {job(), 50, "█░░░ 420/1000 42%  410 succeeded  6 failed  4 dead"},
		"no room for all": {job(), 30, "420/1000 42%  410 succeeded"},
		"no room for it":  {job(), 20, "██░░░░░ 420/1000 42%"},
		"hardly any":      {job(), 5, "420/1"},
		"none":            {job(), 0, ""},
		"less than none":  {job(), -1, ""},
		"nothing done":    {progress.State{Total: 3}, 30, "░░░░░░░░░░░░░░░░░░░░░░░ 0/3 0%"},
		"all done":        {progress.State{Total: 3, Parts: []progress.Part{{N: 3}}}, 30, "█████████████████████ 3/3 100%"},
		"more than all":   {progress.State{Total: 3, Parts: []progress.Part{{N: 6}}}, 30, "█████████████████████ 6/3 200%"},
		"no total":        {progress.State{Parts: []progress.Part{{N: 5}}, Details: []string{"sent"}}, 30, "5  sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.state.Bar(tt.columns, style.Style{}); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	for columns := range 150 {
		if got := utf8.RuneCountInString(job().Bar(columns, style.Style{})); got > columns {
			t.Errorf("%d characters in %d columns", got, columns)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got, want := job().Line(), "420/1000 42%, 410 succeeded, 6 failed, 4 dead, 210.0/s, 2.8s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		progress.Left(420, 580, 210):              "2.8s left",
		progress.Left(420, 580, 0):                "",
		progress.Left(49, 951, 5):                 "", // 4.9 %, 9.8 s
		progress.Left(50, 950, 10):                "1m35s left",
		progress.Left(50, 99950, 5):               "5h33m left",
		progress.Left(420, 0, 210):                "",
		progress.Left(1<<40, 1<<40, 1):            "",
		progress.Round(42 * time.Second):          "42s",
		progress.Round(150 * time.Second):         "2m30s",
		progress.Round(3*time.Hour + time.Minute): "3h01m",
		progress.Bytes(999):                       "999 B",
		progress.Bytes(1_500):                     "1.5 kB",
		progress.Bytes(2_340_000_000):             "2.3 GB",
		progress.Bytes(5_000_000_000_000_000):     "5000.0 TB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if fmt.Sprint(progress.Left(1, 1, 10)) != "0.1s left" {
		t.Error(progress.Left(1, 1, 10))
	}
}
