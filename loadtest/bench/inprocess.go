package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"triptych/loadtest/bench/figure"
)

// What the rows 3 and 4 run: benchmarks of Go, for what they measure has no door.
const (
	predictorPackage = "services/predictor"
	batcherBenchmark = "BenchmarkIdentity"
	modelBenchmark   = "BenchmarkFloat32"
)

// The three ways to run the model, in the names of the benchmark's cases.
const (
	bare    = "bare"
	batched = "batched"
	overRPC = "grpc"
)

// batcherAlone is row 3: what the batcher costs a request when the model costs
// nothing.
func (b *runner) batcherAlone(ctx context.Context) error {
	for round := range b.Rounds {
		out, err := b.goBenchmark(ctx, "^"+batcherBenchmark+"$", (b.Window / 2).String())
		if err != nil {
			return err
		}
		ns, err := metricOf(out, batcherBenchmark, "ns/op")
		if err != nil {
			return err
		}
		b.Keep(figure.Sample{Row: 3, Round: round + 1, Side: ours, Name: batcherBenchmark, Value: ns / 1e3})
		b.Say("row 3 round %d  %s  %.2f us", round+1, batcherBenchmark, ns/1e3)
	}
	us := b.Median(3, ours, batcherBenchmark, figure.Value)
	b.Add(figure.Figure{Row: 3, Name: "the batcher alone, a request", Unit: "us", Ours: us, Against: figure.Absolute, Bar: figure.AtMost(20)})
	return nil
}

// turns is how often the three ways of row 4 follow each other in a round.
const turns = "7x"

// realModel is row 4: a real model on the CPU, against the bare session with the
// same threads. The benchmark gives the median of the ratios of neighbouring turns.
func (b *runner) realModel(ctx context.Context) error {
	for round := range b.Rounds {
		out, err := b.goBenchmark(ctx, "^"+modelBenchmark+"$", turns)
		if err != nil {
			return err
		}
		for _, way := range []string{batched, overRPC} {
			ratio, err := metricOf(out, modelBenchmark, way+"/"+bare)
			if err != nil {
				return err
			}
			b.Keep(figure.Sample{Row: 4, Round: round + 1, Side: ours, Name: way, Value: ratio})
			b.Say("row 4 round %d  %-8s %.3f of the bare session", round+1, way, ratio)
		}
	}
	for _, f := range []struct {
		way, name string
		bar       float64
	}{{batched, "float32 model in process, of the bare session", 0.97}, {overRPC, "float32 model over gRPC, of the bare session", 0.93}} {
		b.Add(figure.Figure{Row: 4, Name: f.name, Ours: b.Median(4, ours, f.way, figure.Value), Against: figure.Absolute, Bar: figure.AtLeast(f.bar)})
	}
	return nil
}

// goBenchmark runs a benchmark of the predictor and gives what it prints.
func (b *runner) goBenchmark(ctx context.Context, pattern, benchtime string) (text string, err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary := filepath.Join(folder, "test")
	//nolint:gosec // our own names
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+predictorPackage).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", predictorPackage, err, out)
	}
	//nolint:gosec // what was just built
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", benchtime)
	cmd.Dir = predictorPackage
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("benchmark %s: %w\n%s", pattern, err, out)
	}
	return string(out), nil
}

// metricOf is one of the numbers that a benchmark reported.
func metricOf(text, benchmark, unit string) (float64, error) {
	v, ok := parseBenchmarks(text, unit)[benchmark]
	if !ok {
		return 0, fmt.Errorf("benchmark %s reported no %s:\n%s", benchmark, unit, text)
	}
	return v, nil
}

// parseBenchmarks reads the lines of `go test -bench`, whose names end in the
// number of processors.
func parseBenchmarks(text, unit string) map[string]float64 {
	line := regexp.MustCompile(`(?m)^(Benchmark\S*?)(?:-\d+)?\s.*?([0-9.e+]+) ` + regexp.QuoteMeta(unit) + `\b`)
	found := map[string]float64{}
	for _, match := range line.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(match[2], 64); err == nil {
			found[match[1]] = v
		}
	}
	return found
}
