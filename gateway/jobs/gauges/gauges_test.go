package gauges_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/gauges"
	pb "triptych/proto/jobs"
	"triptych/shared/app"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

// run starts a part that ends with the test.
func run(t *testing.T, part app.Part) {
	t.Helper()
	if err := part.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = part.Stop(context.Background()) })
}

// follow runs a board that ends with the test.
func follow(t *testing.T, store *jobs.Store) *board.Board {
	t.Helper()
	b := board.New(store, telemetry.Discard().Logger)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return b
}

// scrape has the value of each metric by its name and the values of its labels.
func scrape(t *testing.T, tel *telemetry.Telemetry) map[string]float64 {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			values[name] = m.GetGauge().GetValue()
		}
	}
	return values
}

func put(t *testing.T, store *jobs.Store, model string, level, n int) {
	t.Helper()
	for i := range n {
		subject := stream.StepSubject(model, level, "job-"+strconv.Itoa(level), uint32(i), 0)
		if _, err := store.Connection().JetStream().Publish(t.Context(), subject, []byte("task")); err != nil {
			t.Fatal(err)
		}
	}
}

func fill(t *testing.T, store *jobs.Store) {
	t.Helper()
	js := store.Connection().JetStream()
	for _, model := range []string{"a.model", "idle"} {
		if err := store.Connection().EnsureModel(t.Context(), model); err != nil {
			t.Fatal(err)
		}
	}
	put(t, store, "a.model", 1, 2)
	put(t, store, "a.model", 3, 5)
	consumer, err := js.Consumer(t.Context(), stream.StepStream("a.model"), stream.StepConsumer(3))
	if err != nil {
		t.Fatal(err)
	}
	// All are taken; one of them is given back and taken again.
	batch, err := consumer.Fetch(5, jetstream.FetchMaxWait(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var first jetstream.Msg
	for msg := range batch.Messages() {
		if first == nil {
			first = msg
		}
	}
	if err := first.Nak(); err != nil {
		t.Fatal(err)
	}
	if _, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	put(t, store, "a.model", 3, 2)
	if err := store.Bury(t.Context(), &pb.Verdict{Job: "open", Item: 0}, 0); err != nil {
		t.Fatal(err)
	}
	for id, state := range map[string]pb.State{"open": pb.State_STATE_ACCEPTED, "ended": pb.State_STATE_DONE, "too": pb.State_STATE_DONE} {
		if err := store.Create(t.Context(), &pb.Job{Id: id, Items: 3, State: state}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGauges(t *testing.T) {
	server := natstest.Server(t)
	store := natstest.Store(t, server)
	tel := telemetry.Discard()
	fill(t, store)
	b := follow(t, store)
	testkit.Eventually(t, 10*time.Second, "the board has the verdict", func() bool { return b.Has("open", 0) })
	g, err := gauges.New(store, b, tel)
	if err != nil {
		t.Fatal(err)
	}
	if got := scrape(t, tel); len(got) != 1 || got["triptych_jobs_up"] != 0 {
		t.Errorf("before the first look: %v", got)
	}
	run(t, g.Part())
	var got map[string]float64
	testkit.Eventually(t, 10*time.Second, "the queues are read", func() bool {
		got = scrape(t, tel)
		return got["triptych_jobs_up"] == 1
	})
	for name, want := range map[string]float64{
		"triptych_jobs_pending 1 a.model":           2,
		"triptych_jobs_ack_pending 1 a.model":       0,
		"triptych_jobs_lag 1 a.model":               2,
		"triptych_jobs_pending 2 a.model":           0,
		"triptych_jobs_pending 3 a.model":           2,
		"triptych_jobs_ack_pending 3 a.model":       5,
		"triptych_jobs_lag 3 a.model":               7,
		"triptych_jobs_redelivered 3 a.model":       1,
		"triptych_jobs_lag 2 idle":                  0,
		"triptych_jobs_oldest_age_seconds idle":     0,
		"triptych_jobs_dead_letters":                1,
		"triptych_jobs running":                     1,
		"triptych_jobs cancelling":                  0,
		"triptych_jobs done":                        2,
		"triptych_jobs_items_undecided":             2,
		"triptych_jobs_stored_bytes backlog":        0,
		"triptych_jobs_stored_limit_bytes backlog":  2 << 30,
		"triptych_jobs_stored_limit_bytes verdicts": 1 << 30,
		"triptych_jobs_stored_limit_bytes objects":  2 << 30,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %g (%t), want %g", name, value, there, want)
		}
	}
	if age := got["triptych_jobs_oldest_age_seconds a.model"]; age <= 0 || age > 60 {
		t.Errorf("the oldest task is %g s old", age)
	}
	if got["triptych_jobs_stored_bytes verdicts"] == 0 {
		t.Error("a verdict takes no room")
	}

	server.Stop()
	testkit.Eventually(t, 10*time.Second, "nothing is told of a NATS that is away", func() bool {
		got := scrape(t, tel)
		up, there := got["triptych_jobs_up"]
		return there && up == 0 && len(got) == 1
	})
}

// TestTwice tells that a second set on one registry is an error and no panic.
func TestTwice(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	tel := telemetry.Discard()
	b := board.New(store, tel.Logger)
	if _, err := gauges.New(store, b, tel); err != nil {
		t.Fatal(err)
	}
	if _, err := gauges.New(store, b, tel); err == nil {
		t.Error("no error")
	}
}
