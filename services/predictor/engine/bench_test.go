package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/oip"
)

// BenchmarkRun is what the defaults for threads and instances were chosen by:
// batches a second for each combination of runs at once and threads.
func BenchmarkRun(b *testing.B) {
	lib := library(b)
	base, directory := sampleModel(b)
	for _, version := range []string{"1", "2"} {
		for _, batch := range []int64{1, 8} {
			for _, spin := range []bool{false, true} {
				for _, threads := range []int{1, 2} {
					cfg := clone(base)
					cfg.Parameters = map[string]*inference.ModelParameter{
						"intra_op_thread_count":   {StringValue: strconv.Itoa(threads)},
						"intra_op_allow_spinning": {StringValue: strconv.FormatBool(spin)},
					}
					session, err := lib.Load(b.Context(), cfg, filepath.Join(directory, version), settings())
					if err != nil {
						b.Fatal(err)
					}
					closeLater(b, session)
					for _, runs := range []int{1, 2} {
						b.Run(fmt.Sprintf("version=%s/batch=%d/spin=%t/threads=%d/runs=%d", version, batch, spin, threads, runs), func(b *testing.B) {
							b.ReportAllocs()
							var group sync.WaitGroup
							for n := range runs {
								group.Go(func() {
									input := image(uint32(n), batch)
									for i := n; i < b.N; i += runs {
										run(b, session, input)
									}
								})
							}
							group.Wait()
							b.ReportMetric(float64(int64(b.N)*batch)/b.Elapsed().Seconds(), "images/s")
						})
					}
				}
			}
		}
	}
}

// BenchmarkSessionRun is the cost of a run beside the model's: of one that does
// nothing.
func BenchmarkSessionRun(b *testing.B) {
	session := load(b, testModel(b, "identity_fp32", "max_batch_size: 4"+fp32))
	inputs := []oip.Tensor{{Name: "x", Datatype: "FP32", Shape: []int64{1, 3}, Data: make([]byte, 12)}}
	cancelled, cancel := context.WithCancel(b.Context())
	defer cancel()
	for name, ctx := range map[string]context.Context{"no deadline": context.Background(), "cancellable": cancelled} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.Run(ctx, inputs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkArena is what the arena is worth: images a second with it, without it,
// and with one that every run shrinks.
func BenchmarkArena(b *testing.B) {
	lib := library(b)
	base, directory := sampleModel(b)
	for _, version := range []string{"1", "2"} {
		for _, arena := range []string{"on", "off", "shrunk"} {
			cfg := clone(base)
			cfg.Parameters = map[string]*inference.ModelParameter{"enable_mem_arena": {StringValue: strconv.FormatBool(arena != "off")}}
			if arena == "shrunk" {
				cfg.Parameters["memory.enable_memory_arena_shrinkage"] = &inference.ModelParameter{StringValue: "cpu:0"}
			}
			session, err := lib.Load(b.Context(), cfg, filepath.Join(directory, version), settings())
			if err != nil {
				b.Fatal(err)
			}
			closeLater(b, session)
			for _, batch := range []int64{1, 16} {
				input := image(1, batch)
				b.Run(fmt.Sprintf("version=%s/arena=%s/batch=%d", version, arena, batch), func(b *testing.B) {
					for b.Loop() {
						run(b, session, input)
					}
					b.ReportMetric(float64(int64(b.N)*batch)/b.Elapsed().Seconds(), "images/s")
				})
			}
		}
	}
}
