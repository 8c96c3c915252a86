package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/feed"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/jobs"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
	"triptych/shared/worker"
)

// soon is the most that a test waits for what is to come.
const soon = 30 * time.Second

// system is a NATS server that can be stopped and started on the same directory.
type system struct {
	tb        testing.TB
	directory string
	mu        sync.Mutex
	server    *embedded.Server
}

func newSystem(tb testing.TB) *system {
	tb.Helper()
	s := &system{tb: tb, directory: tb.TempDir()}
	s.start()
	tb.Cleanup(s.stop)
	return s
}

func (s *system) start() {
	cfg := natstest.Config(s.directory)
	cfg.Logger = slog.New(slog.DiscardHandler)
	server, err := embedded.Start(cfg)
	if err != nil {
		s.tb.Error(err)
		return
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
}

func (s *system) stop() {
	s.mu.Lock()
	server := s.server
	s.server = nil
	s.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// InProcessConn implements nats.InProcessConnProvider.
func (s *system) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil, net.ErrClosed
	}
	return s.server.InProcessConn()
}

func (s *system) store(change ...func(*stream.Config)) *jobs.Store {
	s.tb.Helper()
	cfg := stream.DefaultConfig()
	cfg.InProcess = s
	for _, c := range change {
		c(&cfg)
	}
	conn, err := stream.Connect(cfg, "test", telemetry.Discard())
	if err != nil {
		s.tb.Fatal(err)
	}
	part := conn.Part()
	if err := part.Start(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = part.Stop(context.Background()) })
	ctx, cancel := context.WithTimeout(s.tb.Context(), soon)
	defer cancel()
	if err := conn.Ensure(ctx); err != nil {
		s.tb.Fatal(err)
	}
	return jobs.New(conn)
}

// gateway is a board and a feeder.
type gateway struct {
	store  *jobs.Store
	board  *board.Board
	feeder *feed.Feeder
	end    func()
}

// quick is a configuration whose times are short.
func quick() feed.Config {
	cfg := feed.DefaultConfig()
	cfg.LostAfter, cfg.Takeover, cfg.CallbackDelay = time.Second, time.Second, 50*time.Millisecond
	return cfg
}

func newGateway(tb testing.TB, store *jobs.Store, cfg feed.Config, tel *telemetry.Telemetry) *gateway {
	tb.Helper()
	g := &gateway{store: store, board: board.New(store, tel.Logger)}
	g.feeder = feed.New(cfg, store, g.board, tel)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { g.board.Run(ctx) })
	part := g.feeder.Part()
	if err := part.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	g.end = sync.OnceFunc(func() {
		_ = part.Stop(context.Background())
		cancel()
		running.Wait()
	})
	tb.Cleanup(g.end)
	return g
}

// models are functions that answer "OUT" with their input "IN".
type models struct {
	names []string
	ran   atomic.Int64
	// before, if set, is called before a model answers.
	before func(ctx context.Context, req *inference.ModelInferRequest) error
	stop   func()
}

func (m *models) Serving() []string { return m.names }

func (*models) Config(model string) (*inference.ModelConfig, error) {
	return &inference.ModelConfig{Name: model}, nil
}

func (*models) Unwatched() time.Duration { return time.Hour }

func (m *models) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	m.ran.Add(1)
	if m.before != nil {
		if err := m.before(ctx, req); err != nil {
			return nil, err
		}
	}
	in, _ := oip.Input(req, "IN")
	resp := &inference.ModelInferResponse{ModelName: req.GetModelName(), ModelVersion: "1"}
	oip.AddOutput(resp, oip.Tensor{Name: "OUT", Datatype: in.Datatype, Shape: in.Shape, Data: in.Data})
	return resp, nil
}

func serve(tb testing.TB, store *jobs.Store, m *models) *models {
	tb.Helper()
	if len(m.names) == 0 {
		m.names = []string{"a", "b", "c"}
	}
	cfg := worker.DefaultConfig()
	cfg.Delay, cfg.Attempts, cfg.Slots = 20*time.Millisecond, 2, 16
	made, err := worker.New(cfg, store, m, telemetry.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	door := made.Part()
	if err := door.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	m.stop = sync.OnceFunc(func() { _ = door.Stop(context.Background()) })
	tb.Cleanup(m.stop)
	return m
}

// chain is a plan of three steps.
const chain = `name: "chain" input { name: "IMAGE" data_type: TYPE_STRING dims: 1 } output { name: "ANSWER" data_type: TYPE_STRING dims: 1 }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "IN" value: "IMAGE" } output_map { key: "OUT" value: "s" } }
  step { model_name: "b" model_version: -1 input_map { key: "IN" value: "s" } output_map { key: "OUT" value: "t" } }
  step { model_name: "c" model_version: -1 input_map { key: "IN" value: "t" } output_map { key: "OUT" value: "ANSWER" } }
}`

func planOf(tb testing.TB, text string) []byte {
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

// accept stores a job of so many items, and its record.
func accept(tb testing.TB, store *jobs.Store, id string, items int, change ...func(*pb.Job, []*pb.Item)) *pb.Job {
	tb.Helper()
	perPage := max(50, items/20)
	list := make([]*pb.Item, items)
	for i := range list {
		list[i] = &pb.Item{Index: uint32(i), Name: fmt.Sprintf("%d.jpg", i), Input: &pb.Item_Image{Image: fmt.Appendf(nil, "image %d", i)}}
	}
	job := &pb.Job{
		Id: id, Model: "chain", State: pb.State_STATE_ACCEPTED, Plan: planOf(tb, chain), Input: "IMAGE", Shape: []int64{1}, Items: uint32(items),
		CreatedMs: time.Now().UnixMilli(), RequestId: "request-" + id, Bytes: uint64(items) * 10,
	}
	for _, c := range change {
		c(job, list)
	}
	put := func(page int, items []*pb.Item) {
		ack, err := store.PutPage(id, uint32(page), &pb.Page{Items: items})
		if err == nil {
			err = jobs.Stored(tb.Context(), ack)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	for page := 0; page*perPage < items; page++ {
		put(page, list[page*perPage:min((page+1)*perPage, items)])
		job.Pages++
	}
	if err := store.Create(tb.Context(), job); err != nil {
		tb.Fatal(err)
	}
	return job
}

// ended waits until a job has ended, and gives its record.
func ended(tb testing.TB, store *jobs.Store, id string) *pb.Job {
	tb.Helper()
	var job *pb.Job
	testkit.Eventually(tb, soon, "job "+id+" has ended", func() bool {
		var err error
		job, err = store.Job(tb.Context(), id)
		return err == nil && !board.Open(job)
	})
	return job
}

// pages are the subjects of a job's pages.
func pages(tb testing.TB, store *jobs.Store, id string) map[string]uint64 {
	tb.Helper()
	inputs, err := store.Connection().JetStream().Stream(tb.Context(), stream.Inputs)
	if err != nil {
		tb.Fatal(err)
	}
	info, err := inputs.Info(tb.Context(), jetstream.WithSubjectFilter(stream.InputSubject(id, "*")))
	if err != nil {
		tb.Fatal(err)
	}
	return info.State.Subjects
}
