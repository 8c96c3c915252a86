package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"triptych/loadtest/target/targettest"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// result is what a test reads of a JSON report.
type result struct {
	Settings struct {
		Loop, Protocol string
		Images         int
	}
	Interrupted bool
	Requests    int64
	Answered    int64
	Failed      int64
	Errors      []struct {
		Kind  string
		Count int64
	}
	Latency map[string]float64 `json:"latency_ms"`
}

// outcome is what came of a run.
type outcome struct {
	status         int
	stdout, stderr string
	report         result
}

func runWith(t *testing.T, ctx context.Context, environ []string, args ...string) outcome { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	c := commandWith(t, ctx, environ, "report.json", args...)
	o := outcome{status: c.status, stdout: c.stdout, stderr: c.stderr}
	if c.page != "" {
		if err := json.Unmarshal([]byte(c.page), &o.report); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func echo(image []byte) ([]string, error) { return []string{string(image), "other"}, nil }

func TestRun(t *testing.T) {
	server := targettest.Start(t, echo)
	dir := targettest.Pictures(t, "a", "b", "c")
	tests := []struct {
		name string
		args []string
		loop string
	}{
		{"closed by classify", []string{"--url", server.URL, "--concurrency", "4"}, "closed"},
		{"closed by rest", []string{"--protocol", "rest", "--url", server.URL}, "closed"},
		{"closed by grpc", []string{"--protocol", "grpc", "--url", server.Address}, "closed"},
		{"open by classify", []string{"--url", server.URL, "--rate", "2000"}, "open"},
		{"open by grpc", []string{"--protocol", "grpc", "--url", server.Address, "--rate", "2000", "--warmup", "50ms"}, "open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := runWith(t, t.Context(), nil, append(tt.args, dir, "--requests", "200", "--verify-consistent")...)
			r := o.report
			if o.status != statusGood || r.Requests != 200 || r.Answered != 200 || r.Failed != 0 || r.Settings.Loop != tt.loop || r.Settings.Images != 3 {
				t.Errorf("status %d, report %+v\n%s%s", o.status, r, o.stdout, o.stderr)
			}
			if !strings.Contains(o.stdout, "200 answered, 0 errors") || r.Latency["p99.9"] <= 0 {
				t.Errorf("output:\n%s", o.stdout)
			}
		})
	}
}

func TestRunWithTensors(t *testing.T) {
	server := targettest.Start(t, echo)
	args := []string{"--protocol", "grpc", "--url", server.Address, "--tensor", targettest.Tensor + ":FP32:3,4", "--batch", "2", "--priority", "7", "--requests", "50"}
	o := runWith(t, t.Context(), nil, append(args, "--rate", "5000", "--deadline", "10s")...)
	if o.status != statusGood || o.report.Answered != 50 || !strings.Contains(o.stdout, "16 tensors tensor:FP32:3,4 with a batch of 2") || !strings.Contains(o.stdout, ", deadline 10000 ms, for") {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// A refusal that comes early and an answer that comes too late are told apart.
func TestRunWithADeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		classify targettest.Classify
		kind     string
	}{
		"refused":  {func([]byte) ([]string, error) { return nil, failure.New(failure.Deadline, "no time") }, "gRPC DEADLINE_EXCEEDED DEADLINE"},
		"too late": {func([]byte) ([]string, error) { time.Sleep(300 * time.Millisecond); return nil, nil }, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			server := targettest.Start(t, tt.classify)
			o := runWith(t, t.Context(), nil, "--protocol", "grpc", "--url", server.Address, "--tensor", targettest.Tensor+":UINT8:3", "--deadline", "150ms", "--requests", "3")
			if o.status != statusErrors || len(o.report.Errors) != 1 || o.report.Errors[0].Kind != tt.kind || !strings.Contains(o.stdout, "(known after p50") {
				t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
			}
		})
	}
}

// With the real file of expected answers: a server that is right, and one that
// is wrong about one image.
func TestRunWithExpectedAnswers(t *testing.T) {
	right := map[string]string{"cat.gif": "Egyptian cat", "coffee.jpg": "espresso"}
	server := targettest.Start(t, func(image []byte) ([]string, error) { return []string{right[string(image)]}, nil })
	wrong := targettest.Start(t, func([]byte) ([]string, error) { return []string{"espresso"}, nil })
	dir := targettest.Pictures(t, "cat.gif", "coffee.jpg")
	args := []string{"--images", dir, "--requests", "20", "--expected", testkit.Path(t, "testdata", "expected.json"), "--expected-version", "1"}

	o := runWith(t, t.Context(), nil, append(args, "--url", server.URL)...)
	if o.status != statusGood || o.report.Answered != 20 {
		t.Errorf("right: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	o = runWith(t, t.Context(), nil, append(args, "--url", wrong.URL)...)
	if o.status != statusErrors || o.report.Answered != 10 || len(o.report.Errors) != 1 || o.report.Errors[0].Kind != "wrong answer" {
		t.Errorf("wrong: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if !strings.Contains(o.stdout, `cat.gif got ["espresso"], want ["Egyptian cat"]`) {
		t.Errorf("output:\n%s", o.stdout)
	}
}

func TestRunFindsAnswersOfOthers(t *testing.T) {
	var n atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		if n.Add(1) == 50 {
			return []string{"somebody else's"}, nil
		}
		return echo(image)
	})
	o := runWith(t, t.Context(), nil, targettest.Pictures(t, "a", "b"), "--url", server.URL, "--requests", "100", "--verify-consistent")
	if o.status != statusErrors || o.report.Failed != 1 || o.report.Errors[0].Kind != "wrong answer" {
		t.Errorf("status %d\n%s", o.status, o.stdout)
	}
}

func TestRunWithErrors(t *testing.T) {
	server := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "full") })
	args := []string{targettest.Pictures(t, "a"), "--url", server.URL, "--requests", "10"}
	o := runWith(t, t.Context(), nil, args...)
	if o.status != statusErrors || o.report.Failed != 10 || o.report.Errors[0].Kind != "HTTP 429 BUSY" {
		t.Errorf("status %d\n%s", o.status, o.stdout)
	}
	if o = runWith(t, t.Context(), nil, append(args, "--allow-errors")...); o.status != statusGood || o.report.Failed != 10 {
		t.Errorf("allowed: status %d\n%s", o.status, o.stdout)
	}
}

func TestRunTimeout(t *testing.T) {
	release := make(chan struct{})
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		<-release
		return echo(image)
	})
	defer close(release)
	o := runWith(t, t.Context(), nil, targettest.Pictures(t, "a"), "--url", server.URL, "--requests", "2", "--timeout", "20ms")
	if o.status != statusErrors || o.report.Failed != 2 || o.report.Errors[0].Kind != "timeout" {
		t.Errorf("status %d\n%s", o.status, o.stdout)
	}
}

func TestRunEndedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		if n.Add(1) == 101 { // the first is to see that somebody is there, and does not count
			cancel()
		}
		return echo(image)
	})
	o := runWith(t, ctx, nil, targettest.Pictures(t, "a"), "--protocol", "grpc", "--url", server.Address, "--duration", "1h")
	if o.status != statusGood || !o.report.Interrupted || o.report.Answered < 100 || !strings.Contains(o.stdout, "ended early") {
		t.Errorf("status %d\n%s", o.status, o.stdout)
	}
}

func TestRunByEnvironment(t *testing.T) {
	server := targettest.Start(t, echo)
	environ := []string{"TRIPTYCH_URL=" + server.URL, "TRIPTYCH_REQUESTS=7", "TRIPTYCH_GRPC_ADDRESS=somebody else's"}
	if o := runWith(t, t.Context(), environ, targettest.Pictures(t, "a")); o.status != statusGood || o.report.Answered != 7 {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

func TestRunRefuses(t *testing.T) {
	dir := targettest.Pictures(t, "a")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no image", nil, "give an image or a folder of images"},
		{"unknown flag", []string{dir, "--ratio", "1"}, "unknown flag: --ratio"},
		{"protocol", []string{dir, "--protocol", "http"}, `--protocol is "http", must be one of classify, rest, grpc`},
		{"url", []string{dir, "--url", "ftp://x"}, `--url is "ftp://x"`},
		{"concurrency", []string{dir, "--concurrency", "0"}, "--concurrency is 0, must be from 1 to 100000"},
		{"max-outstanding", []string{dir, "--max-outstanding", "1000000000000"}, "--max-outstanding is 1000000000000, must be from 1 to 100000"},
		{"connections", []string{dir, "--connections", "-1"}, "--connections is -1"},
		{"requests", []string{dir, "--requests", "-1"}, "--requests is -1"},
		{"rate", []string{dir, "--rate", "NaN"}, "--rate is NaN"},
		{"rate too small", []string{dir, "--rate", "1e-9"}, "--rate is 1e-09, must be from 0.001"},
		{"both loops", []string{dir, "--rate", "1", "--concurrency", "1"}, "--rate and --concurrency can't both be given"},
		{"duration", []string{dir, "--duration", "-1s"}, "--duration is -1s"},
		{"warmup", []string{dir, "--warmup", "-1s"}, "--warmup is -1s"},
		{"timeout", []string{dir, "--timeout", "0"}, "--timeout is 0s, must be more than 0"},
		{"tensor", []string{"--tensor", "x", "--protocol", "grpc"}, `--tensor is "x", must be NAME:DATATYPE:DIMS`},
		{"tensor over HTTP", []string{"--tensor", "x:FP32:1"}, "--tensor needs --protocol grpc"},
		{"tensor with labels", []string{"--tensor", "x:FP32:1", "--protocol", "grpc", "--verify-consistent"}, "--tensor has no labels"},
		{"tensor and images", []string{dir, "--tensor", "x:FP32:1", "--protocol", "grpc"}, "--tensor and images can't both be sent"},
		{"contents", []string{"--tensor", "x:FP32:1", "--protocol", "grpc", "--contents", "0"}, "--contents is 0"},
		{"batch", []string{"--tensor", "x:FP32:1", "--protocol", "grpc", "--batch", "-1"}, "--batch is -1"},
		{"warmup of no kind", []string{dir, "--warmup", "hot"}, "invalid argument \"hot\" for \"--warmup\""},
		{"warmup-most", []string{dir, "--warmup", "auto", "--warmup-most", "0"}, "--warmup-most is 0s"},
		{"version by classify", []string{dir, "--model-version", "1"}, "POST /v1/classify has no choice of a version"},
		{"jobs by grpc", []string{dir, "--jobs", "1", "--protocol", "grpc"}, "jobs are sent over HTTP"},
		{"jobs of tensors", []string{"--tensor", "x:FP32:1", "--protocol", "grpc", "--jobs", "1"}, "--jobs are of images"},
		{"scenario by flags", []string{"--scenario", "x.yaml"}, "--scenario is for search and compare"},
		{"deadline", []string{dir, "--deadline", "-1s"}, "--deadline is -1s"},
		{"model", []string{dir, "--model", ""}, "--model is empty"},
		{"tenant", []string{dir, "--tenant", "a b"}, `--tenant is "a b", must be 1 to 64 printable ASCII characters without blanks`},
		{"tenant of a tensor", []string{"--tensor", "x:FP32:1", "--protocol", "grpc", "--tenant", "é"}, `--tenant is "é", must be 1 to 64`},
		{"expected", []string{dir, "--expected", "nothing.json"}, "--expected: nothing.json can't be read"},
		{"image", []string{filepath.Join(dir, "b")}, "can't be read"},
		{"report", []string{dir, "--report", filepath.Join(dir, "no", "folder")}, "can't be written"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), tt.args, nil, &stdout, &stderr)
			if status != statusNotRun || !strings.HasPrefix(stderr.String(), "loadtest: ") || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"--help"}, nil, &stdout, &stderr); status != statusGood {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"Open loop", "--verify-consistent", "Exit status", "loadtest testdata/images"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the help has no %q", want)
		}
	}
}

func TestDefaultEnd(t *testing.T) {
	s := defaultSettings()
	if got := s.stage().Duration; got != 10*time.Second {
		t.Errorf("ends after %v", got)
	}
	s.requests = 5
	if got := s.stage(); got.Duration != 0 || got.Requests != 5 {
		t.Errorf("stage %+v", got)
	}
}
