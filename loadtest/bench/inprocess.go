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
	"time"

	"triptych/loadtest/bench/figure"
)

// What the rows 3 and 4 run: benchmarks of Go, for what they measure has no door.
const (
	predictorPackage = "services/predictor"
	batcherBenchmark = "BenchmarkIdentity"
	modelBenchmark   = "BenchmarkFloat32/"
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
	found, err := b.goBenchmark(ctx, "^"+batcherBenchmark+"$", "ns/op", b.rounds, b.window/2)
	if err != nil {
		return err
	}
	for round, turn := range found {
		for name, ns := range turn {
			b.report.Samples = append(b.report.Samples, figure.Sample{Row: 3, Round: round + 1, Side: ours, Name: name, Value: ns / 1e3})
			b.say("row 3 round %d  %s  %.2f us", round+1, name, ns/1e3)
		}
	}
	us := b.median(3, ours, batcherBenchmark, value)
	b.add(figure.Figure{Row: 3, Name: "the batcher alone, a request", Unit: "us", Ours: us, Against: figure.Absolute, Bar: figure.AtMost(20)})
	return nil
}

// turnsARound is how often the ways of row 4 follow each other in a round: what a
// machine with neighbours can do changes within seconds, and the differences
// are small.
const turnsARound = 2

// realModel is row 4: a real model on the CPU, against the bare session with the
// same threads.
func (b *runner) realModel(ctx context.Context) error {
	found, err := b.goBenchmark(ctx, "^"+modelBenchmark, "images/s", b.rounds*turnsARound, b.window)
	if err != nil {
		return err
	}
	for turn, speed := range found {
		for _, way := range []string{bare, batched, overRPC} {
			b.sample(figure.Sample{Row: 4, Round: turn/turnsARound + 1, Side: ours, Name: way, Throughput: speed[modelBenchmark+way]})
		}
	}
	session := b.median(4, ours, bare, throughput)
	for _, f := range []struct {
		way, name string
		bar       float64
	}{{batched, "float32 model in process", 0.97}, {overRPC, "float32 model over gRPC", 0.93}} {
		b.add(figure.Figure{Row: 4, Name: f.name, Unit: "/s", Ours: b.median(4, ours, f.way, throughput), Rival: &session, Against: "bare session", Bar: figure.AtLeast(f.bar)})
	}
	return nil
}

// goBenchmark runs benchmarks of the predictor, all of them in each turn, and gives
// one of their numbers by name.
func (b *runner) goBenchmark(ctx context.Context, pattern, unit string, turns int, long time.Duration) (found []map[string]float64, err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	binary := filepath.Join(folder, "test")
	//nolint:gosec // our own names
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./"+predictorPackage).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", predictorPackage, err, out)
	}
	for range turns {
		//nolint:gosec // what was just built
		cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", long.String())
		cmd.Dir = predictorPackage
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: %w\n%s", pattern, err, out)
		}
		turn := parseBenchmarks(string(out), unit)
		if len(turn) == 0 {
			return nil, fmt.Errorf("benchmark %s reported no %s:\n%s", pattern, unit, out)
		}
		found = append(found, turn)
	}
	return found, nil
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
