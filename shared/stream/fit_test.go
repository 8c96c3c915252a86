package stream_test

import (
	"slices"
	"testing"

	"triptych/shared/stream"
)

func TestLimitsFitTheDisk(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	all := stream.DefaultConfig().Limits
	files := func(l stream.Limits) int64 {
		return l.BacklogBytes + 2*l.BlobBytes + l.VerdictBytes + l.DeadBytes + l.RecordBytes
	}
	tests := map[string]struct {
		room   int64
		given  []string
		fitted bool
		most   int64 // of all files
	}{
		"a large disk":          {100 << 30, nil, false, files(all)},
		"just enough":           {files(all), nil, false, files(all)},
		"a small one":           {2 << 30, nil, true, 2 << 30},
		"a tiny one":            {20 * mb, nil, true, 20 * mb},
		"no room at all":        {1, nil, true, 6 * mb},
		"one was given":         {3 << 30, []string{"jobs-backlog-bytes"}, true, 3 << 30},
		"objects were given":    {5 << 30, []string{"jobs-object-bytes"}, true, 5 << 30},
		"too much was given":    {1 << 30, []string{"jobs-backlog-bytes"}, true, 2<<30 + 5*mb},
		"everything was given":  {1 << 30, []string{"jobs-backlog-bytes", "jobs-object-bytes", "jobs-verdict-bytes", "jobs-dead-bytes", "jobs-record-bytes"}, false, files(all)},
		"another flag is given": {2 << 30, []string{"jobs-step-bytes"}, true, 2 << 30},
	}
	for name, test := range tests {
		got, fitted := all.Fit(test.room, func(flag string) bool { return slices.Contains(test.given, flag) })
		if fitted != test.fitted || files(got) > test.most || files(got) < test.most*9/10 {
			t.Errorf("%s: %t, %d bytes, want %t and %d", name, fitted, files(got), test.fitted, test.most)
		}
		if slices.Contains(test.given, "jobs-backlog-bytes") && got.BacklogBytes != all.BacklogBytes {
			t.Errorf("%s: a limit that was given is %d", name, got.BacklogBytes)
		}
		if got.StepBytes != all.StepBytes || got.NoteBytes != all.NoteBytes {
			t.Errorf("%s: limits of memory have changed", name)
		}
	}
	if _, fitted := all.Fit(1<<30, nil); !fitted {
		t.Error("nothing was given, and nothing fitted")
	}
}
