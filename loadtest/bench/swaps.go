package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/versions"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
)

// Row 5: the classifier changes between its two versions' files, each time as a
// version with a new number, while all cores are busy.
const (
	swapCount   = 20
	swapCallers = 16
	swapItems   = 8
	settleTime  = 15 * time.Second
	settleReads = 9
)

// The names of what row 5 keeps.
const (
	failedName = "failed"
	wrongName  = "wrong"
	memoryName = "memory"
)

// swaps is row 5: versions that change under full load.
func (b *runner) swaps(ctx context.Context) error {
	for round := range b.Rounds {
		if err := b.swapsOnce(ctx, round); err != nil {
			return err
		}
	}
	worst := func(name string) float64 {
		most := 0.0
		for _, v := range b.Of(5, ours, name, figure.Value) {
			most = max(most, v)
		}
		return most
	}
	b.Add(figure.Figure{Row: 5, Name: "failed requests, most of all rounds", Ours: worst(failedName), Against: figure.Absolute, Bar: figure.AtMost(0)})
	b.Add(figure.Figure{Row: 5, Name: "wrong answers, most of all rounds", Ours: worst(wrongName), Against: figure.Absolute, Bar: figure.AtMost(0)})
	b.Add(figure.Figure{Row: 5, Name: "memory after 20 swaps less after 2", Unit: "MiB", Ours: b.Median(5, ours, memoryName, figure.Value), Against: figure.Absolute, Bar: figure.AtMost(32)})
	return nil
}

func (b *runner) swapsOnce(ctx context.Context, round int) (err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r, err := versions.New(b.classifiers, folder)
	if err != nil {
		return err
	}
	flags := []string{"--model-control-mode", "explicit"}
	return b.withOurs(ctx, r.Root, flags, func(s *server.Server) error {
		answers, err := learn(ctx, r, s)
		if err != nil {
			return err
		}
		return b.swapUnderLoad(ctx, s, r, answers, round)
	})
}

func (b *runner) swapUnderLoad(ctx context.Context, s *server.Server, r *versions.Repository, answers *answers, round int) error {
	t, err := target.NewTensors(target.Options{Protocol: target.GRPC, URL: s.Address, Model: classifier, Connections: 2}, answers.tensors, answers.check)
	if err != nil {
		return err
	}
	defer func() { _ = t.Close() }()
	recorder := measure.NewRecorder()
	busy, rest := context.WithCancel(ctx)
	var callers sync.WaitGroup
	callers.Go(func() {
		load.Closed(busy, load.Plan{Timeout: requestTimeout, Items: swapItems}, swapCallers, t, recorder)
	})
	grown, err := b.swapAll(ctx, s, r, round)
	rest()
	callers.Wait()
	if err != nil {
		return err
	}
	result := recorder.Result()
	var wrong int64
	for _, f := range result.Faults {
		b.Say("row 5 round %d  %d x %s: %s", round+1, f.Count, f.Kind, f.Example)
		if f.Kind == measure.WrongAnswer {
			wrong += f.Count
		}
	}
	b.Say("row 5 round %d  %d answers at %.0f/s, p99 %.1f ms, memory grew by %.1f MiB", round+1, result.Answered, result.Throughput(), figure.Ms(result.Latency.P99), grown)
	for name, v := range map[string]float64{failedName: float64(result.Errors - wrong), wrongName: float64(wrong), memoryName: grown} {
		b.Keep(figure.Sample{Row: 5, Round: round + 1, Side: ours, Name: name, Value: v})
	}
	return nil
}

// swapAll swaps and gives by how many MiB the memory has grown since the second.
func (b *runner) swapAll(ctx context.Context, s *server.Server, r *versions.Repository, round int) (float64, error) {
	var second, last int64
	for n := 1; n <= swapCount; n++ {
		began := time.Now()
		if err := swap(ctx, r, s); err != nil {
			return 0, fmt.Errorf("swap %d: %w", n, err)
		}
		took := time.Since(began)
		memory, err := s.Memory()
		if n == 2 || n == swapCount {
			memory, err = settled(ctx, s)
		}
		if err != nil {
			return 0, err
		}
		b.Say("row 5 round %d  swap %2d took %s, memory %d MiB", round+1, n, took.Round(time.Millisecond), memory>>20)
		if n == 2 {
			second = memory
		}
		last = memory
	}
	return float64(last-second) / (1 << 20), nil
}

// settled is the memory after a while, for an old version goes when the last of
// its requests is done, and the runtime gives the memory of the warm-up's largest
// batches back ten seconds later. It is the median of a few readings, for the
// load goes on.
func settled(ctx context.Context, s *server.Server) (int64, error) {
	wait := settleTime
	readings := make([]int64, 0, settleReads)
	for range settleReads {
		if err := pace.Wait(ctx, wait); err != nil {
			return 0, err
		}
		memory, err := s.Memory()
		if err != nil {
			return 0, err
		}
		readings = append(readings, memory)
		wait = 200 * time.Millisecond
	}
	slices.Sort(readings)
	return readings[settleReads/2], nil
}
