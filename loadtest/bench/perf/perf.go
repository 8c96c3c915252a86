// Package perf runs Triton's perf_analyzer and reads what it prints. It knows the
// closed loop only.
package perf

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// Analyzer is the command of the shell that runs perf_analyzer, without arguments.
type Analyzer string

// Test is one measurement.
type Test struct {
	Address, Model, Input, Shape string
	Concurrency                  int
	// Window is the time of one of the three that are measured.
	Window time.Duration
}

// Result is what perf_analyzer found.
type Result struct {
	Throughput float64
	P50, P99   time.Duration
	// Batch is the mean size of the server's batches.
	Batch float64
}

// Run measures.
func (a Analyzer) Run(ctx context.Context, t Test) (Result, error) {
	// All of three windows are taken, however they differ: a bar is not for the
	// generator to judge.
	args := []string{
		"-m", t.Model, "-u", t.Address, "-i", "grpc", "--shape", t.Input + ":" + t.Shape,
		"--concurrency-range", strconv.Itoa(t.Concurrency), "-p", strconv.FormatInt(t.Window.Milliseconds(), 10), "-s", "999",
	}
	//nolint:gosec // the command is the user's own
	out, err := exec.CommandContext(ctx, "sh", append([]string{"-c", string(a) + ` "$@"`, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		return Result{}, fmt.Errorf("perf_analyzer %v: %w\n%s", args, err, out)
	}
	return Parse(string(out))
}

// Parse reads the report of one concurrency.
func Parse(text string) (Result, error) {
	var r Result
	var p50, p99, inferences, executions float64
	for _, f := range []struct {
		pattern string
		value   *float64
	}{
		{`Throughput: ([0-9.]+) infer/sec`, &r.Throughput},
		{`p50 latency: ([0-9]+) usec`, &p50},
		{`p99 latency: ([0-9]+) usec`, &p99},
		{`Inference count: ([0-9]+)`, &inferences},
		{`Execution count: ([0-9]+)`, &executions},
	} {
		match := regexp.MustCompile(f.pattern).FindStringSubmatch(text)
		if match == nil {
			return Result{}, fmt.Errorf("perf_analyzer's report has no %q:\n%s", f.pattern, text)
		}
		var err error
		if *f.value, err = strconv.ParseFloat(match[1], 64); err != nil {
			return Result{}, fmt.Errorf("perf_analyzer's report: %w", err)
		}
	}
	r.P50, r.P99 = time.Duration(p50)*time.Microsecond, time.Duration(p99)*time.Microsecond
	if executions > 0 {
		r.Batch = inferences / executions
	}
	return r, nil
}
