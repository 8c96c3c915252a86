// Package jobstest runs the routes of jobs behind the real HTTP front, over a real
// NATS server, for tests. Nobody works on the jobs unless the test does.
package jobstest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"triptych/gateway/internal/fake"
	"triptych/gateway/internal/fronttest"
	"triptych/gateway/jobs"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/app"
	store "triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// Config is what a test may change.
type Config struct {
	Jobs   jobs.Config
	Stream func(*stream.Config)
	Front  func(*fronttest.Config)
	Models *fake.Server
	// NATS is a server to use instead of one of its own.
	NATS *NATS
}

// Server is a front with the routes of jobs.
type Server struct {
	*fronttest.Server
	tb    testing.TB
	Store *store.Store
	NATS  *NATS
	Jobs  *jobs.Jobs
}

// Models are those of a test that names none: two that take one image, and one that
// does not.
func Models() *fake.Server {
	classifier := fake.Classifier("classify") // in one step
	classifier.Config.Platform, classifier.Config.Backend = "", "classification"
	return &fake.Server{Models: []fake.Model{
		classifier, fake.Echo("echo", inference.DataType_TYPE_STRING, 1), fake.Echo("floats", inference.DataType_TYPE_FP32, -1),
	}}
}

// Start runs everything until the test ends.
func Start(tb testing.TB, change ...func(*Config)) *Server {
	tb.Helper()
	cfg := Config{Jobs: jobs.DefaultConfig(), Models: Models(), Stream: func(*stream.Config) {}, Front: func(*fronttest.Config) {}}
	for _, c := range change {
		c(&cfg)
	}
	s := &Server{tb: tb, NATS: cfg.NATS}
	if s.NATS == nil {
		s.NATS = startNATS(tb)
	}
	s.Store = natstest.Store(tb, nil, func(c *stream.Config) { c.InProcess = s.NATS }, cfg.Stream)
	var err error
	if s.Jobs, err = jobs.New(cfg.Jobs, s.Store, cfg.Models, telemetry.Discard()); err != nil {
		tb.Fatal(err)
	}
	s.Server = fronttest.StartWith(tb, cfg.Models, s.Jobs.Routes(), func(c *fronttest.Config) { c.Background = s.Jobs.Background() }, cfg.Front)
	for _, part := range append([]app.Part{s.Store.Connection().Part()}, s.Jobs.Parts()...) {
		if part.Start != nil {
			if err := part.Start(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
		tb.Cleanup(func() {
			if err := part.Stop(context.Background()); err != nil {
				tb.Error(err)
			}
		})
	}
	testkit.Eventually(tb, 10*time.Second, "the routes of jobs to be ready", func() bool { return s.Jobs.Ready() == nil })
	return s
}

// Document is a job as its status shows it.
type Document struct {
	ID, Name, Model, State, Created, Deadline, Ended string
	Priority                                         int
	Items                                            uint32
	Counts                                           map[string]uint32
	RequestID                                        string `json:"request_id"`
	TraceID                                          string `json:"trace_id"`
}

// Job reads the document of an answer, which must have the status.
func (s *Server) Job(a fronttest.Answer, status int) Document {
	s.tb.Helper()
	var doc Document
	if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != status {
		s.tb.Fatalf("%d, want %d: %s", a.Status, status, a.Body)
	}
	return doc
}

// Create makes a job of some images and gives its id.
func (s *Server) Create(images ...string) string {
	s.tb.Helper()
	return s.Job(s.Send(Form(images...)), http.StatusAccepted).ID
}

// Send posts a body as a job.
func (s *Server) Send(body []byte, contentType string, headers ...string) fronttest.Answer {
	s.tb.Helper()
	return s.Post("/v1/jobs", body, append([]string{"Content-Type", contentType}, headers...)...)
}

// Decide writes the verdict of an item, as a worker would.
func (s *Server) Decide(job string, item uint32, outcome pb.Outcome, change ...func(*pb.Verdict)) {
	s.tb.Helper()
	v := &pb.Verdict{Job: job, Item: item, Outcome: outcome, Started: 1, Attempts: 1}
	for _, c := range change {
		c(v)
	}
	decide := s.Store.Decide
	if outcome == pb.Outcome_OUTCOME_DEAD {
		decide = func(ctx context.Context, v *pb.Verdict, fence uint64) (bool, error) {
			return true, s.Store.Bury(ctx, v, fence)
		}
	}
	if won, err := decide(s.tb.Context(), v, 0); err != nil || !won {
		s.tb.Fatalf("item %d is not decided: %v", item, err)
	}
}

// Finish writes that a job has ended, as the feeder would.
func (s *Server) Finish(job string, counts *pb.Counts) {
	s.tb.Helper()
	verdicts, err := s.Store.Connection().JetStream().Stream(s.tb.Context(), stream.Verdicts)
	if err != nil {
		s.tb.Fatal(err)
	}
	_, err = s.Store.Update(s.tb.Context(), job, func(j *pb.Job) error {
		if j.State = pb.State_STATE_DONE; j.GetCounts().GetCancelled() > 0 {
			j.State = pb.State_STATE_CANCELLED
		}
		j.Counts, j.EndedMs, j.VerdictsAfter = counts, time.Now().UnixMilli(), verdicts.CachedInfo().State.LastSeq
		return nil
	})
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Stored is how many messages and objects of jobs the store has.
func (s *Server) Stored() int {
	s.tb.Helper()
	js := s.Store.Connection().JetStream()
	count := 0
	for _, name := range []string{stream.Inputs, "OBJ_" + stream.Blobs, stream.Verdicts} {
		in, err := js.Stream(s.tb.Context(), name)
		if err != nil {
			s.tb.Fatal(err)
		}
		info, err := in.Info(s.tb.Context())
		if err != nil {
			s.tb.Fatal(err)
		}
		count += int(info.State.Msgs)
	}
	kv, err := s.Store.Records(s.tb.Context())
	if err != nil {
		s.tb.Fatal(err)
	}
	keys, err := kv.ListKeysFiltered(s.tb.Context(), stream.JobRecords, "key.>")
	if err != nil {
		s.tb.Fatal(err)
	}
	for range keys.Keys() {
		count++
	}
	return count
}
