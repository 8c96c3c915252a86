package upstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// many is a server that says it has many models, and takes its time for each
// question.
type many struct {
	inference.GRPCInferenceServiceServer
	models   int
	pace     time.Duration
	hangs    string // the model whose questions are never answered
	rounds   atomic.Int64
	asked    atomic.Int64
	together atomic.Int64
	most     atomic.Int64
}

// RepositoryIndex implements inference.GRPCInferenceServiceServer.
func (m *many) RepositoryIndex(context.Context, *inference.RepositoryIndexRequest) (*inference.RepositoryIndexResponse, error) {
	m.rounds.Add(1)
	resp := &inference.RepositoryIndexResponse{}
	for i := range m.models {
		resp.Models = append(resp.Models, &inference.RepositoryIndexResponse_ModelIndex{Name: fmt.Sprintf("m%d", i), Version: "1", State: string(modelserver.Ready)})
	}
	return resp, nil
}

// ModelConfig implements inference.GRPCInferenceServiceServer.
func (m *many) ModelConfig(ctx context.Context, req *inference.ModelConfigRequest) (*inference.ModelConfigResponse, error) {
	m.asked.Add(1)
	if n := m.together.Add(1); n > m.most.Load() {
		m.most.Store(n)
	}
	defer m.together.Add(-1)
	pace := time.After(m.pace)
	if req.GetName() == m.hangs {
		pace = nil
	}
	select {
	case <-pace:
		return &inference.ModelConfigResponse{Config: &inference.ModelConfig{Name: req.GetName()}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ModelStatistics implements inference.GRPCInferenceServiceServer.
func (m *many) ModelStatistics(ctx context.Context, _ *inference.ModelStatisticsRequest) (*inference.ModelStatisticsResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (m *many) start(t *testing.T) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Folders: []string{t.TempDir()}, Wrap: func(s *modelserver.Service) inference.GRPCInferenceServiceServer {
		m.GRPCInferenceServiceServer = s
		return m
	}})
}

// TestManyModels has 300 models at a replica that takes 5 ms for a question: it
// stays ready, and is not asked again for what it has said.
func TestManyModels(t *testing.T) {
	t.Parallel()
	m := &many{models: 300, pace: 5 * time.Millisecond}
	f := start(t, m.start(t).Address)
	rounds, asked := m.rounds.Load(), m.asked.Load()
	for range 10 {
		nextRound(t, f)
		if err := f.Ready(); err != nil {
			t.Error(err)
		}
		for i := range 300 {
			if _, err := f.Catalog().Config(fmt.Sprintf("m%d", i), "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	rounds, asked = m.rounds.Load()-rounds, m.asked.Load()-asked
	if asked > 10*(rounds+2) { // one was under way at each end
		t.Errorf("%d rounds asked for %d configurations", rounds, asked)
	}
	if most := m.most.Load(); most > 8 {
		t.Errorf("%d questions at once", most)
	}
}

// TestSlowConfig has one model whose configuration can't be had: the replica and
// the other models are ready all the same.
func TestSlowConfig(t *testing.T) {
	t.Parallel()
	m := &many{models: 3, hangs: "m1"}
	f := start(t, m.start(t).Address)
	if err := f.Ready(); err != nil {
		t.Error(err)
	}
	for model, want := range map[string]string{"m0": "", "m1": `model "m1" version 1 is not ready: its configuration is not known yet`, "m2": ""} {
		_, err := f.Catalog().Config(model, "")
		if (err != nil) != (want != "") || (err != nil && failure.Message(err) != want) {
			t.Errorf("%s: got %v", model, err)
		}
	}
}

// TestAskEach has a replica that does not answer: it does not keep the others'
// answers back for longer than it is given.
func TestAskEach(t *testing.T) {
	t.Parallel()
	slow, good := &many{models: 1}, serve(t, "", 1, "m0")
	address := slow.start(t).Address
	f := once(t, address, good.Address)
	var answers atomic.Int64
	ask := func(ctx context.Context, c inference.GRPCInferenceServiceClient) error {
		_, err := c.ModelStatistics(ctx, &inference.ModelStatisticsRequest{Name: "m0"})
		if err == nil {
			answers.Add(1)
		}
		return err
	}
	begin := time.Now()
	if err := f.AskEach(t.Context(), "m0", ask); err != nil || answers.Load() != 1 {
		t.Errorf("got %v, %d answers", err, answers.Load())
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
	good.Kill()
	err := f.AskEach(t.Context(), "m0", func(ctx context.Context, c inference.GRPCInferenceServiceClient) error { return ask(ctx, c) })
	if failure.KindOf(err) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
	if err := f.AskEach(within(t, 10*time.Millisecond), "m0", ask); failure.KindOf(err) == failure.Internal || err == nil {
		t.Errorf("got %v", err)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	newFleet := func(interval time.Duration) *upstream.Fleet {
		f, err := upstream.New(settings(interval), rpc.DefaultConfig(), telemetry.Discard())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(time.Second)
		live := func() {
			t.Helper()
			time.Sleep(time.Hour)
			if err := f.Live(); err != nil {
				t.Error(err)
			}
		}
		live() // not started
		if err := f.Part().Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		live()
		if err := f.Part().Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		live()
	})
	tests := map[string]struct {
		interval, since time.Duration
		live            bool
	}{
		"in time":             {time.Second, 9 * time.Second, true},
		"late":                {time.Second, 11 * time.Second, false},
		"long pauses":         {5 * time.Second, 45 * time.Second, true},
		"late of long pauses": {5 * time.Second, 51 * time.Second, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(test.interval)
			f.Turned(time.Now().Add(-test.since))
			if err := f.Live(); (err == nil) != test.live || (err != nil && failure.KindOf(err) != failure.Unavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
}
