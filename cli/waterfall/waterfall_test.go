package waterfall_test

import (
	"strings"
	"testing"

	"triptych/cli/style"
	"triptych/cli/traces"
	"triptych/cli/waterfall"
)

func span(id, parent, name, service string, start, duration int64) traces.Span {
	s := traces.Span{TraceID: "t", SpanID: id, OperationName: name, StartTime: start, Duration: duration, ProcessID: service}
	if parent != "" {
		s.References = []traces.Reference{{RefType: traces.ChildOf, TraceID: "t", SpanID: parent}}
	}
	return s
}

func draw(t *testing.T, trace traces.Trace, columns int) []string {
	t.Helper()
	var b strings.Builder
	if err := waterfall.Write(&b, trace, style.Style{}, columns); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	lines := draw(t, traces.Trace{
		TraceID:   "t",
		Processes: map[string]traces.Process{"g": {ServiceName: "gateway"}, "p": {ServiceName: "predictor"}},
		Spans: []traces.Span{
			span("c", "b", "inference.GRPCInferenceService/ModelInfer", "p", 1500, 500),
			span("a", "", "POST /v1/classify", "g", 1000, 2000),
			span("b", "a", "step model", "g", 1250, 1000),
		},
	}, 35+12+20+11+3)
	want := []string{
		"trace t   3 spans, 2 services,     2.00 ms",
		"POST /v1/classify                   gateway      " + strings.Repeat("█", 20) + "     2.00 ms",
		"  step model                        gateway      " + strings.Repeat(" ", 2) + strings.Repeat("█", 10) + strings.Repeat(" ", 8) + "     1.00 ms",
		"    GRPCInferenceService/ModelInfer predictor    " + strings.Repeat(" ", 5) + strings.Repeat("█", 5) + strings.Repeat(" ", 10) + "     0.50 ms",
	}
	if got, want := strings.Join(lines, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("drawn\n%s\nwant\n%s", got, want)
	}
}

func TestWriteOddTraces(t *testing.T) {
	t.Parallel()
	gateway := map[string]traces.Process{"g": {ServiceName: "gateway"}}
	for name, tt := range map[string]struct {
		spans []traces.Span
		lines int
	}{
		"no spans":                   {nil, 1},
		"a parent that is not there": {[]traces.Span{span("b", "gone", "x", "g", 1, 1)}, 2},
		"its own parent":             {[]traces.Span{span("a", "", "x", "g", 1, 1), span("b", "b", "y", "g", 1, 1)}, 2},
		"no duration":                {[]traces.Span{span("a", "", "x", "g", 5, 0)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := draw(t, traces.Trace{TraceID: "t", Processes: gateway, Spans: tt.spans}, 80); len(got) != tt.lines {
				t.Errorf("%d lines %q, want %d", len(got), got, tt.lines)
			}
		})
	}
}

// A line fits into a terminal; a bar keeps the least that can be read, and no more
// than is needed.
func TestWidth(t *testing.T) {
	t.Parallel()
	trace := traces.Trace{TraceID: "t", Processes: map[string]traces.Process{"g": {ServiceName: "gateway"}}, Spans: []traces.Span{span("a", "", "root", "g", 0, 10)}}
	for columns, want := range map[int]int{10: 12, 60: 60 - 4 - 12 - 11 - 3, 500: 40} {
		line := draw(t, trace, columns)[1]
		if got := strings.Count(line, "█"); got != want {
			t.Errorf("%d columns: a bar of %d, want %d", columns, got, want)
		}
	}
}
