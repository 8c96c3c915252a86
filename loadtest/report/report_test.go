package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/report"
	"triptych/loadtest/stage"
)

func spread(d time.Duration) measure.Spread {
	return measure.Spread{Min: d, Mean: 2 * d, P50: 3 * d, P90: 4 * d, P95: 5 * d, P99: 6 * d, P999: 70 * d, Max: 8000 * d}
}

func example() report.Report {
	return report.Report{
		Settings: report.Settings{
			Protocol: "grpc", URL: "127.0.0.1:8001", Model: "classify", Images: 9,
			Loop: report.Closed, Concurrency: 32, DurationSeconds: 10, WarmupSeconds: 2, TimeoutSeconds: 30, Connections: 2,
		},
		Stage: stage.Result{
			Stage:   stage.Stage{Concurrency: 32},
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Warmup:  stage.Warmed{Result: measure.Result{Answered: 5, Errors: 1}},
			Result: measure.Result{
				Elapsed: 10 * time.Second, Answered: 1000, Errors: 3, Sent: 123_456_789, Received: 98_765,
				Faults:  []measure.FaultCount{{Kind: "gRPC UNAVAILABLE", Count: 2, Example: "down"}, {Kind: "timeout", Count: 1, Example: "no answer within 30s", Latency: spread(2 * time.Millisecond)}},
				Latency: spread(2 * time.Millisecond), Lateness: spread(10 * time.Microsecond),
			},
			CPU: 500 * time.Millisecond,
		},
	}
}

func TestText(t *testing.T) {
	var out strings.Builder
	if err := example().Text(&out); err != nil {
		t.Fatal(err)
	}
	want := `grpc to 127.0.0.1:8001, model classify, 9 images
closed loop, 32 in flight, for 10.0 s after a warm-up of 2 s (5 answered, 1 errors)

requests    1003: 1000 answered, 3 errors
throughput  100.0/s
latency     min 2.00ms  mean 4.00ms  p50 6.00ms  p90 8.00ms  p95 10.0ms  p99 12.0ms  p99.9 140ms  max 16.0s
bytes       123.5 MB sent, 98.8 kB received
generator   0.50 s of CPU: 0.05 cores, 498 us a request

errors
        2  gRPC UNAVAILABLE: down
        1  timeout: no answer within 30s (known after p50 6.00ms, p99 12.0ms)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextOfAnOpenLoopEndedEarly(t *testing.T) {
	r := example()
	r.Settings.WarmupSeconds = 0
	r.Stage.Stage = stage.Stage{Arrivals: load.Arrivals{Rate: 12.5, MaxOutstanding: 100}}
	r.Stage.Interrupted, r.Stage.Result.Abandoned = true, 7
	r.Stage.Result.Sent, r.Stage.Result.Received = 2_000_000_000, 12
	var out strings.Builder
	if err := r.Text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"open loop, 12.5 requests a second, at most 100 in flight, for 10.0 s, ended early\n",
		"requests    1010: 1000 answered, 3 errors, 7 abandoned\n",
		"bytes       2.00 GB sent, 12 B received\n",
		"sent late   min 0.01ms",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestJSON(t *testing.T) {
	r := example()
	r.Settings.Loop, r.Settings.Rate, r.Settings.Seed = report.Open, 100, 1
	r.Stage.Stage = stage.Stage{Arrivals: load.Arrivals{Rate: 100}}
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	latency := map[string]any{"min": 2.0, "mean": 4.0, "p50": 6.0, "p90": 8.0, "p95": 10.0, "p99": 12.0, "p99.9": 140.0, "max": 16000.0}
	none := map[string]any{"min": 0.0, "mean": 0.0, "p50": 0.0, "p90": 0.0, "p95": 0.0, "p99": 0.0, "p99.9": 0.0, "max": 0.0}
	want := map[string]any{
		"started": "2026-01-02T03:04:05Z",
		"settings": map[string]any{
			"protocol": "grpc", "url": "127.0.0.1:8001", "model": "classify", "images": 9.0, "loop": "open", "concurrency": 32.0, "rate": 100.0, "seed": 1.0,
			"duration_s": 10.0, "warmup_s": 2.0, "timeout_s": 30.0, "connections": 2.0, "verify_consistent": false,
		},
		"interrupted": false,
		"warmup":      map[string]any{"answered": 5.0, "errors": 1.0},
		"elapsed_s":   10.0, "requests": 1003.0, "answered": 1000.0, "failed": 3.0, "abandoned": 0.0, "throughput_per_s": 100.0,
		"latency_ms": latency,
		"errors": []any{
			map[string]any{"kind": "gRPC UNAVAILABLE", "count": 2.0, "example": "down", "latency_ms": none},
			map[string]any{"kind": "timeout", "count": 1.0, "example": "no answer within 30s", "latency_ms": latency},
		},
		"bytes_sent": 123456789.0, "bytes_received": 98765.0,
		"generator": map[string]any{
			"cpu_s": 0.5, "cores": 0.05, "cpu_us_per_request": 498.504,
			"late_ms": map[string]any{"min": 0.01, "mean": 0.02, "p50": 0.03, "p90": 0.04, "p95": 0.05, "p99": 0.06, "p99.9": 0.7, "max": 80.0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := (report.Report{}).JSON(&out); err != nil {
		t.Error(err)
	}
	out.Reset()
	if err := (report.Report{}).Text(&out); err != nil || !strings.Contains(out.String(), "latency     none\n") {
		t.Errorf("error %v, text\n%s", err, out.String())
	}
}

func TestProgress(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		want     string
	}{
		{"terminal", true, "\r\x1b[Ktest   1s  2 ok  2.0/s  p50 3.00ms  p99 3.00ms  errors 1  in flight 1" +
			"\r\x1b[Ktest   2s  2 ok  0.0/s  p50 3.00ms  p99 3.00ms  errors 1  in flight 1\r\x1b[K"},
		{"log", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				recorder := measure.NewRecorder()
				stop := report.NewProgress(&out, tt.terminal).Watch("test", recorder)
				for range 4 {
					recorder.Started()
				}
				recorder.Answered(measure.Answer{}, 3*time.Millisecond, 0)
				recorder.Answered(measure.Answer{}, 3*time.Millisecond, 0)
				recorder.Failed(measure.Fault{Kind: "k"}, 0)
				time.Sleep(2500 * time.Millisecond)
				stop()
				if diff := cmp.Diff(tt.want, out.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := report.NewProgress(&out, false).Watch("warm-up", measure.NewRecorder())
		time.Sleep(21 * time.Second)
		stop()
		want := "warm-up  10s  0 ok  0.0/s  p50 0.00ms  p99 0.00ms  errors 0  in flight 0\n" +
			"warm-up  20s  0 ok  0.0/s  p50 0.00ms  p99 0.00ms  errors 0  in flight 0\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestReportPassed(t *testing.T) {
	for name, tt := range map[string]struct {
		result          measure.Result
		passed, excused bool // without the flag, and with it
	}{
		"good":     {result(3, 0), true, true},
		"errors":   {result(3, 1), false, true},
		"all fail": {result(0, 1), false, true},
		"nothing":  {result(0, 0), false, false},
	} {
		r := report.Report{Stage: stage.Result{Result: tt.result}}
		passed := r.Passed()
		r.ErrorsExcused = true
		if passed != tt.passed || r.Passed() != tt.excused {
			t.Errorf("%s: passed %t, excused %t", name, passed, r.Passed())
		}
	}
}
