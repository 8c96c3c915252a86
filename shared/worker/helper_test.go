package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
	"triptych/shared/testkit/servertest"
	"triptych/shared/worker"
)

// infer is a model.
type infer func(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error)

// models are models by name. One that is nil answers y with the sum of its inputs
// plus one.
type models struct {
	mu        sync.Mutex
	all       map[string]infer
	unwatched atomic.Int64
}

func newModels(all map[string]infer) *models {
	m := &models{all: all}
	m.unwatched.Store(int64(time.Hour))
	return m
}

func named(names ...string) *models {
	all := map[string]infer{}
	for _, n := range names {
		all[n] = nil
	}
	return newModels(all)
}

func (m *models) set(name string, run infer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[name] = run
}

func (m *models) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
}

func (m *models) Serving() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.all))
	for n := range m.all {
		names = append(names, n)
	}
	return names
}

func (*models) Config(model string) (*inference.ModelConfig, error) {
	return &inference.ModelConfig{Name: model}, nil
}

func (m *models) Unwatched() time.Duration { return time.Duration(m.unwatched.Load()) }

func (m *models) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	m.mu.Lock()
	run := m.all[req.GetModelName()]
	m.mu.Unlock()
	if run == nil {
		run = sum
	}
	return run(ctx, req)
}

func sum(_ context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	total := float32(1)
	for _, data := range req.GetRawInputContents() {
		for _, v := range servertest.Floats(data) {
			total += v
		}
	}
	return answer(req, total), nil
}

func answer(req *inference.ModelInferRequest, values ...float32) *inference.ModelInferResponse {
	resp := &inference.ModelInferResponse{ModelName: req.GetModelName(), ModelVersion: "1"}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "FP32", Shape: []int64{int64(len(values))}, Data: servertest.Raw(values...)})
	return resp
}

// settings are a door's for tests: quick to try again.
func settings() worker.Config {
	cfg := worker.DefaultConfig()
	cfg.Delay, cfg.Hold, cfg.Slots = 20*time.Millisecond, 2*time.Second, 16
	return cfg
}

// quick makes a task that nobody works on come again soon.
func quick(c *stream.Config) { c.Limits.AckWait = 500 * time.Millisecond }

// open starts a door, which stops with the test, or before.
func open(tb testing.TB, cfg worker.Config, store *jobs.Store, m worker.Models, tel *telemetry.Telemetry, options ...worker.Option) (door *worker.Door, stop func(within time.Duration) error) {
	tb.Helper()
	door, err := worker.New(cfg, store, m, tel, options...)
	if err != nil {
		tb.Fatal(err)
	}
	part := door.Part()
	if err := part.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	var once sync.Once
	var end error
	stop = func(within time.Duration) error {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), within)
			defer cancel()
			end = part.Stop(ctx)
		})
		return end
	}
	tb.Cleanup(func() { _ = stop(5 * time.Second) })
	return door, stop
}

// plan is a graph as it travels.
func plan(tb testing.TB, text string) []byte {
	tb.Helper()
	cfg, err := modelconfig.ParseText("config.pbtxt", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Platform = modelconfig.EnsemblePlatform
	data, err := jobs.PlanOf(cfg, "")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// chain is a graph of steps, one after the other.
func chain(tb testing.TB, names ...string) []byte {
	tb.Helper()
	text := `name: "graph" input { name: "IN" data_type: TYPE_FP32 dims: -1 } output { name: "OUT" data_type: TYPE_FP32 dims: -1 }
ensemble_scheduling {`
	from := "IN"
	for i, n := range names {
		to := "t" + string(rune('0'+i))
		if i == len(names)-1 {
			to = "OUT"
		}
		text += ` step { model_name: "` + n + `" model_version: -1 input_map { key: "x" value: "` + from + `" } output_map { key: "y" value: "` + to + `" } }`
		from = to
	}
	return plan(tb, text+"}")
}

// item is a task that begins an item with values as its input IN.
func item(tb testing.TB, store *jobs.Store, plan []byte, job string, index uint32, values ...float32) *jobs.Task {
	tb.Helper()
	compiled, err := store.Plan(plan)
	if err != nil {
		tb.Fatal(err)
	}
	pool := &inference.ModelInferRequest{}
	oip.AddInput(pool, oip.Tensor{Name: "IN", Datatype: "FP32", Shape: []int64{int64(len(values))}, Data: servertest.Raw(values...)})
	return &jobs.Task{Task: &pb.Task{Job: job, Item: index, Plan: plan, Pool: pool, Attempt: 1}, Plan: compiled, Deadline: time.Now().Add(time.Minute)}
}

func begin(tb testing.TB, store *jobs.Store, tasks ...*jobs.Task) {
	tb.Helper()
	for _, t := range tasks {
		testkit.Eventually(tb, 20*time.Second, "the item begins", func() bool { return store.Begin(tb.Context(), t) == nil })
	}
}

// verdict waits for that of an item.
func verdict(tb testing.TB, store *jobs.Store, job string, index uint32) *pb.Verdict {
	tb.Helper()
	var v *pb.Verdict
	testkit.Eventually(tb, 30*time.Second, "the item has a verdict", func() bool {
		var err error
		v, _, err = store.Verdict(tb.Context(), job, index)
		return err == nil
	})
	return v
}

// gives checks that an item succeeded with a value.
func gives(tb testing.TB, store *jobs.Store, job string, index uint32, want float32) *pb.Verdict {
	tb.Helper()
	v := verdict(tb, store, job, index)
	out, _ := oip.Output(v.GetResponse(), "OUT")
	got := servertest.Floats(out.Data)
	if v.GetOutcome() != pb.Outcome_OUTCOME_SUCCEEDED || len(got) != 1 || got[0] != want {
		tb.Fatalf("item %d: %s, %v, %v; want %v", index, v.GetOutcome(), got, v.GetError(), want)
	}
	return v
}

// left is how many messages a stream has.
func left(tb testing.TB, store *jobs.Store, name string) uint64 {
	tb.Helper()
	s, err := store.Connection().JetStream().Stream(tb.Context(), name)
	if err != nil {
		return 0
	}
	return s.CachedInfo().State.Msgs
}

func empty(tb testing.TB, store *jobs.Store, models ...string) {
	tb.Helper()
	for _, m := range models {
		testkit.Eventually(tb, 10*time.Second, "no task of "+m+" is left", func() bool { return left(tb, store, stream.StepStream(m)) == 0 })
	}
}

// setup is a server, a store, and the models behind an open door.
func setup(tb testing.TB, m *models, change ...func(*stream.Config)) *jobs.Store {
	tb.Helper()
	store := natstest.Store(tb, natstest.Server(tb), change...)
	open(tb, settings(), store, m, telemetry.Discard())
	return store
}

// floats is the only value of an answer.
func floats(resp *inference.ModelInferResponse) float32 {
	return servertest.Answer(resp, "y")[0]
}
