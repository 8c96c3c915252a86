package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
	"triptych/shared/testkit/servertest"
)

// randomPlan is a graph of so many steps of few models, each of which needs some of
// those before it.
func randomPlan(t *testing.T, random *rand.Rand, steps int) []byte {
	t.Helper()
	var text strings.Builder
	text.WriteString(ends)
	for i := range steps {
		from := []string{"IN"}
		for j := range i {
			if random.IntN(3) == 0 || j == i-1 && i == steps-1 {
				from = append(from, fmt.Sprintf("t%d", j))
			}
		}
		if len(from) > 1 {
			from = from[1:]
		}
		to := fmt.Sprintf("t%d", i)
		if i == steps-1 {
			to = "OUT"
		}
		fmt.Fprintf(&text, "step { model_name: \"m%d\" model_version: -1", random.IntN(3))
		for n, name := range from {
			fmt.Fprintf(&text, ` input_map { key: "x%d" value: "%s" }`, n, name)
		}
		fmt.Fprintf(&text, " output_map { key: \"y\" value: \"%s\" } }\n", to)
	}
	return plan(t, text.String()+"}")
}

// faulty is a model that is in trouble now and then.
func faulty(random *rand.Rand, mu *sync.Mutex) infer {
	return func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
		mu.Lock()
		luck, long := random.IntN(100), time.Duration(random.IntN(3000))*time.Microsecond
		mu.Unlock()
		time.Sleep(long)
		switch {
		case luck < 8:
			return nil, &failure.Error{Kind: failure.Busy, Message: "full", RetryAfter: time.Millisecond}
		case luck < 12:
			return nil, failure.New(failure.Internal, "bad luck")
		case luck < 14:
			panic("worse luck")
		case luck < 15:
			return nil, failure.New(failure.Unavailable, "away")
		}
		return sum(ctx, req)
	}
}

// feeder does what a gateway does for items that are lost: it begins them again.
func feeder(t *testing.T, store *jobs.Store, tasks []*jobs.Task, patience time.Duration) {
	t.Helper()
	begin(t, store, tasks...)
	last := make([]time.Time, len(tasks))
	for i := range last {
		last[i] = time.Now()
	}
	testkit.Eventually(t, 2*time.Minute, "every item has a verdict", func() bool {
		left := false
		for i, task := range tasks {
			if _, _, err := store.Verdict(t.Context(), task.GetJob(), task.GetItem()); err == nil {
				continue
			}
			left = true
			if time.Since(last[i]) > patience {
				again := item(t, store, task.GetPlan(), task.GetJob(), task.GetItem(), 1)
				task.Attempt++
				again.Attempt = task.Attempt
				_ = store.Begin(t.Context(), again)
				last[i] = time.Now()
			}
		}
		return !left
	})
}

// Many items go through random graphs, with models in trouble, workers that die and
// come, consumers and queues that are deleted: each has one verdict, and those that
// succeeded have the right answer.
func TestRandom(t *testing.T) {
	server := natstest.Server(t)
	watched := natstest.Store(t, server, quick)
	verdicts := map[string]int{}
	random := rand.New(rand.NewPCG(7, 11))
	cfg := settings()
	cfg.Attempts, cfg.Delay = 4, 5*time.Millisecond
	worker := func() func(time.Duration) error {
		run := faulty(rand.New(rand.NewPCG(1, random.Uint64())), &sync.Mutex{})
		_, stop := open(t, cfg, natstest.Store(t, server, quick), newModels(map[string]infer{"m0": run, "m1": run, "m2": run}), telemetry.Discard())
		return stop
	}
	stops := []func(time.Duration) error{worker(), worker()}
	var tasks []*jobs.Task
	want := map[string]float32{}
	for p := range 6 {
		data := randomPlan(t, random, 2+random.IntN(5))
		job := fmt.Sprintf("j%d", p)
		for i := range uint32(40) {
			tasks = append(tasks, item(t, watched, data, job, i, 1))
		}
		want[job] = expected(t, watched, data)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 8 {
			time.Sleep(700 * time.Millisecond)
			at, what := random.IntN(len(stops)), random.IntN(3)
			switch what {
			case 0:
				_ = stops[at](50 * time.Millisecond)
				stops[at] = worker()
			case 1:
				_ = watched.Connection().JetStream().DeleteConsumer(t.Context(), stream.StepStream("m1"), stream.StepConsumer(2))
			case 2:
				_ = watched.Connection().JetStream().DeleteStream(t.Context(), stream.StepStream("m2"))
			}
		}
	}()
	feeder(t, watched, tasks, 4*time.Second)
	<-over
	for _, task := range tasks {
		v := verdict(t, watched, task.GetJob(), task.GetItem())
		verdicts[v.GetOutcome().String()]++
		switch v.GetOutcome() {
		case pb.Outcome_OUTCOME_SUCCEEDED:
			gives(t, watched, task.GetJob(), task.GetItem(), want[task.GetJob()])
		case pb.Outcome_OUTCOME_DEAD:
			testkit.Eventually(t, 5*time.Second, "the letter is there", func() bool { _, err := watched.Dead(t.Context(), task.GetJob(), task.GetItem()); return err == nil })
		default:
			t.Errorf("%s/%d: %v", task.GetJob(), task.GetItem(), v)
		}
	}
	if n := left(t, watched, stream.Verdicts); int(n) != len(tasks) {
		t.Errorf("%d verdicts of %d items", n, len(tasks))
	}
	t.Log(verdicts)
}

// expected is what the sync road answers for 1.
func expected(t *testing.T, store *jobs.Store, data []byte) float32 {
	t.Helper()
	task := item(t, store, data, "sync", 0, 1)
	resp, err := task.Plan.Execute(t.Context(), task.GetPool(), sum)
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Answer(resp, "OUT")[0]
}
