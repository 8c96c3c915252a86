package perf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/bench/perf"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const printed = `*** Measurement Settings ***
  Batch size: 1
Request concurrency: 4
  Client:
    Request count: 2268
    Throughput: 310.388 infer/sec
    Avg latency: 12765 usec (standard deviation 2289 usec)
    p50 latency: 12599 usec
    p90 latency: 13664 usec
    p99 latency: 15952 usec
  Server:
    Inference count: 2268
    Execution count: 1134
    Successful request count: 2268
Concurrency: 4, throughput: 310.388 infer/sec, latency 12765 usec
`

var want = perf.Result{Throughput: 310.388, P50: 12599 * time.Microsecond, P99: 15952 * time.Microsecond, Batch: 2}

func TestParse(t *testing.T) {
	got, err := perf.Parse(printed)
	if err != nil || got != want {
		t.Errorf("got %+v, error %v", got, err)
	}
	if _, err := perf.Parse(strings.Replace(printed, "p99", "p98", 1)); err == nil {
		t.Error("a report without p99 is no error")
	}
}

func TestRun(t *testing.T) {
	script := filepath.Join(t.TempDir(), "analyzer")
	text := "#!/bin/sh\necho \"$@\" >\"$0.args\"\ncat <<'E'\n" + printed + "E\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	test := perf.Test{Address: "host:1", Model: "m", Input: "x", Shape: "2,3", Concurrency: 4, Window: time.Second}
	got, err := perf.Analyzer(script).Run(t.Context(), test)
	if err != nil || got != want {
		t.Errorf("got %+v, error %v", got, err)
	}
	args, err := os.ReadFile(script + ".args")
	if err != nil || string(args) != "-m m -u host:1 -i grpc --shape x:2,3 --concurrency-range 4 -p 1000 -s 999\n" {
		t.Errorf("arguments %q, error %v", args, err)
	}
	if _, err := perf.Analyzer("false").Run(t.Context(), test); err == nil {
		t.Error("a failure is no error")
	}
}
