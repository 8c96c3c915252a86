package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/measure"
	"triptych/proto/inference"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func nothing(string) string { return "" }

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"row", []string{"--rows", "7"}, "--rows has 7, must be from 1 to 6"},
		{"load", []string{"--loads", "0"}, "--loads has 0"},
		{"rounds", []string{"--rounds", "0"}, "--rounds is 0"},
		{"window", []string{"--window", "1ms"}, "--window is 1ms"},
		{"rival without an address", []string{"--rival", "x"}, "--rival needs --rival-grpc"},
		{"flag", []string{"--x"}, "unknown flag"},
		{"output", []string{"--rows", "1", "--output", "/dev/null/x"}, "make a folder for --output"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := Run(t.Context(), tt.args, nothing, &stdout, &stderr); status != rows.NotRun || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}

// A predictor that can't be started is an error, and the report is there all the
// same.
func TestRunWithoutAPredictor(t *testing.T) {
	output := filepath.Join(t.TempDir(), "folder", "report.json")
	var stdout, stderr bytes.Buffer
	status := Run(t.Context(), []string{"--rows", "1,6", "--predictor", "/nowhere/predictor", "--output", output}, nothing, &stdout, &stderr)
	if status != rows.NotRun || !strings.Contains(stderr.String(), "row 6: ") || !strings.Contains(stdout.String(), "No rival was given") {
		t.Errorf("status %d, %q, %q", status, stdout.String(), stderr.String())
	}
	for _, name := range []string{output, output + ".log"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheRivalComesFromTheEnvironment(t *testing.T) {
	s := defaultSettings(func(name string) string { return "of " + name })
	if s.rival.Command != "of RIVAL" || s.rival.Address != "of RIVAL_GRPC" || s.rival.Model != "of RIVAL_MODEL" || s.analyzer != "of PERF_ANALYZER" {
		t.Errorf("settings %+v", s)
	}
}

// The best setting of the rival counts for each number by itself.
func TestAgainstTheBestSetting(t *testing.T) {
	b := runner{settings: settings{rival: server.Rival{Command: "x"}}, Book: &rows.Book{}}
	for _, s := range []figure.Sample{
		{Side: ours, Throughput: 400, P99: 10},
		{Side: withDelay(0), Throughput: 300, P99: 9},
		{Side: withDelay(2000), Throughput: 310, P99: 12},
		{Side: withDelay(bound), Throughput: 200, P99: 20},
	} {
		s.Row, s.Name = 1, "at 4"
		b.Keep(s)
	}
	f := b.against(figure.Figure{Bar: figure.AtLeast(1)}, "at 4", figure.Throughput)
	if f.Ours != 400 || *f.Rival != 310 || f.Against != "delay 2000 us" {
		t.Errorf("throughput %+v", f)
	}
	if f = b.against(figure.Figure{Bar: figure.AtMost(1)}, "at 4", figure.P99); f.Ours != 10 || *f.Rival != 9 || f.Against != "delay 0 us" {
		t.Errorf("p99 %+v", f)
	}
}

func TestParseBenchmarks(t *testing.T) {
	const text = `goos: linux
BenchmarkFloat32/bare         	     100	  11730000 ns/op	        85.25 images/s	     120 B/op
BenchmarkFloat32/grpc-2       	     100	  12730000 ns/op	        78.50 images/s
BenchmarkIdentity-16  	  139852	      8508 ns/op	 7600 B/op
PASS`
	if diff := cmp.Diff(map[string]float64{"BenchmarkFloat32/bare": 85.25, "BenchmarkFloat32/grpc": 78.5}, parseBenchmarks(text, "images/s")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := parseBenchmarks(text, "ns/op")[batcherBenchmark]; got != 8508 {
		t.Errorf("got %v", got)
	}
}

func TestSplit(t *testing.T) {
	after := func(d time.Duration) measure.Spread { return measure.Spread{P99: d} }
	refused, late := split([]measure.FaultCount{
		{Kind: "gRPC DEADLINE_EXCEEDED DEADLINE", Count: 10, Latency: after(time.Millisecond)},
		{Kind: "gRPC RESOURCE_EXHAUSTED BUSY", Count: 5, Latency: after(2 * time.Millisecond)},
		{Kind: measure.Timeout, Count: 3, Latency: after(time.Second)},
		{Kind: measure.Overrun, Count: 1},
	})
	if refused.Count != 15 || refused.Latency.P99 != 2*time.Millisecond || late != 4 {
		t.Errorf("refused %+v, late %d", refused, late)
	}
}

func answer(version string, values ...float32) *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{ModelVersion: version}
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	oip.AddOutput(resp, oip.Tensor{Name: "logits", Datatype: "FP32", Shape: []int64{1, int64(len(values))}, Data: data})
	return resp
}

func TestCheckOfAnswers(t *testing.T) {
	a := answers{right: [2][][]float32{{{1, 2}, {3, 4}}, {{1.5, 2.5}, {3.5, 4.5}}}}
	nan := float32(math.NaN())
	tests := []struct {
		name string
		item int
		resp *inference.ModelInferResponse
		good bool
	}{
		{"right", 1, answer("7", 3.5, 4.5), true},
		{"nearly", 0, answer("8", 1.0001, 2), true},
		{"of the other file", 0, answer("8", 1.5, 2.5), false},
		{"of another item", 0, answer("7", 3.5, 4.5), false},
		{"NaN", 0, answer("8", nan, 2), false},
		{"too short", 0, answer("8", 1), false},
		{"without a version", 0, answer("", 1, 2), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := a.check(tt.item, tt.resp)
			if (err == nil) != tt.good || err != nil && measure.FaultOf(err).Kind != measure.WrongAnswer {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestSettledEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := settled(ctx, nil); err == nil {
		t.Error("no error")
	}
}
