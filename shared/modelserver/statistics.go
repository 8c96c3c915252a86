package modelserver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Statistics counts what one version did since it was loaded: Triton's
// statistics extension. Safe for concurrent use.
type Statistics struct {
	mu            sync.Mutex
	lastInference time.Time
	inferences    uint64
	executions    uint64
	success       duration
	fail          duration
	failures      map[string]uint64 // by reason
	queue         duration
	input         duration
	infer         duration
	output        duration
	cacheHit      duration
	cacheMiss     duration
	joined        uint64 // requests that were answered by an equal one's run
	batches       map[int]*batchTimes
}

// duration is a count and a sum.
type duration struct {
	count uint64
	sum   time.Duration
}

func (d *duration) add(n uint64, t time.Duration) {
	d.count += n
	d.sum += t
}

func (d *duration) message() *inference.StatisticDuration {
	return &inference.StatisticDuration{Count: d.count, Ns: uint64(d.sum)}
}

type batchTimes struct{ input, infer, output duration }

func newStatistics() *Statistics {
	return &Statistics{failures: map[string]uint64{}, batches: map[int]*batchTimes{}}
}

// Succeeded counts a request of a batch that was run and answered after total.
func (s *Statistics) Succeeded(now time.Time, batch int64, total time.Duration, t Timing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addAnswer(now, total)
	s.addRun(batch, t)
}

// answered counts a request that was answered after total, however.
func (s *Statistics) answered(now time.Time, total time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addAnswer(now, total)
}

// ran counts a request of a batch that was run, whoever waits for its answer.
func (s *Statistics) ran(batch int64, t Timing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addRun(batch, t)
}

// abandoned counts the execution that a request speaks for when its caller did not
// wait for the answer. An execution that failed is not counted, as in Triton.
func (s *Statistics) abandoned(err error, t Timing) {
	kind := failure.KindOf(err)
	if t.Executions == 0 || kind != failure.Cancelled && kind != failure.Deadline {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.executed(t)
}

// hit counts an answer from the response cache.
func (s *Statistics) hit(looked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cacheHit.add(1, looked)
}

// missed counts a run that the response cache could not spare.
func (s *Statistics) missed(looked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cacheMiss.add(1, looked)
}

// coalesced counts a request whose answer is that of an equal one's run.
func (s *Statistics) coalesced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined++
}

func (s *Statistics) addAnswer(now time.Time, total time.Duration) {
	s.lastInference = now
	s.success.add(1, total)
}

func (s *Statistics) addRun(batch int64, t Timing) {
	s.inferences += uint64(batch)
	s.queue.add(1, t.Queue)
	s.input.add(1, t.ComputeInput)
	s.infer.add(1, t.ComputeInfer)
	s.output.add(1, t.ComputeOutput)
	if t.Executions > 0 {
		s.executed(t)
	}
}

func (s *Statistics) executed(t Timing) {
	s.executions += uint64(t.Executions)
	b := s.batches[t.Batch]
	if b == nil {
		b = &batchTimes{}
		s.batches[t.Batch] = b
	}
	b.input.add(uint64(t.Executions), t.ComputeInput)
	b.infer.add(uint64(t.Executions), t.ComputeInfer)
	b.output.add(uint64(t.Executions), t.ComputeOutput)
}

// Failed counts a request that was refused or failed after total.
func (s *Statistics) Failed(kind failure.Kind, total time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail.add(1, total)
	s.failures[failureReason(kind)]++
}

// failureReasons are the values of the label of nv_inference_request_failure.
var failureReasons = []string{"BACKEND", "CANCELED", "OTHER", "REJECTED"}

func failureReason(kind failure.Kind) string {
	switch kind {
	case failure.Busy, failure.Deadline:
		return "REJECTED"
	case failure.Cancelled:
		return "CANCELED"
	case failure.Internal:
		return "BACKEND"
	default:
		return "OTHER"
	}
}

// message is the statistics in the form of the protocol.
func (s *Statistics) message(name, version string) *inference.ModelStatistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &inference.ModelStatistics{
		Name:           name,
		Version:        version,
		InferenceCount: s.inferences,
		ExecutionCount: s.executions,
		InferenceStats: &inference.InferStatistics{
			Success:       s.success.message(),
			Fail:          s.fail.message(),
			Queue:         s.queue.message(),
			ComputeInput:  s.input.message(),
			ComputeInfer:  s.infer.message(),
			ComputeOutput: s.output.message(),
			CacheHit:      s.cacheHit.message(),
			CacheMiss:     s.cacheMiss.message(),
		},
	}
	if !s.lastInference.IsZero() {
		m.LastInference = uint64(s.lastInference.UnixMilli())
	}
	for _, size := range slices.Sorted(maps.Keys(s.batches)) {
		b := s.batches[size]
		m.BatchStats = append(m.BatchStats, &inference.InferBatchStatistics{
			BatchSize:     uint64(size),
			ComputeInput:  b.input.message(),
			ComputeInfer:  b.infer.message(),
			ComputeOutput: b.output.message(),
		})
	}
	return m
}

// reasons copies the failure counts.
func (s *Statistics) reasons() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.failures)
}
