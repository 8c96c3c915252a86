package board_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/gateway/jobs/board"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/natstest"
)

const soon = 20 * time.Second

// follow runs a board until the test ends.
func follow(t *testing.T, store *jobs.Store) *board.Board {
	t.Helper()
	b := board.New(store, telemetry.Discard().Logger)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return b
}

func ready(t *testing.T, b *board.Board) *board.Board {
	t.Helper()
	testkit.Eventually(t, soon, "the board is ready", func() bool { return b.Ready() == nil })
	return b
}

func create(t *testing.T, store *jobs.Store, id string, items uint32) {
	t.Helper()
	if err := store.Create(t.Context(), &pb.Job{Id: id, State: pb.State_STATE_ACCEPTED, Items: items, Bytes: uint64(items) * 100}); err != nil {
		t.Fatal(err)
	}
}

// decide writes an item's verdict in place of whatever there is.
func decide(t *testing.T, store *jobs.Store, id string, item uint32, outcome pb.Outcome) {
	t.Helper()
	_, fence, err := store.Verdict(t.Context(), id, item)
	if err != nil && failure.KindOf(err) != failure.NotFound {
		t.Fatal(err)
	}
	if won, err := store.Decide(t.Context(), &pb.Verdict{Job: id, Item: item, Outcome: outcome}, fence); !won || err != nil {
		t.Fatalf("item %d is not decided: %v", item, err)
	}
}

func update(t *testing.T, store *jobs.Store, id string, change func(*pb.Job)) {
	t.Helper()
	if _, err := store.Update(t.Context(), id, func(j *pb.Job) error { change(j); return nil }); err != nil {
		t.Fatal(err)
	}
}

// shows waits until a board has counts.
func shows(t *testing.T, b *board.Board, id string, want *pb.Counts) {
	t.Helper()
	var got *pb.Counts
	begin := time.Now()
	for diff := "nothing"; diff != ""; time.Sleep(5 * time.Millisecond) {
		if s, err := b.Job(id); err == nil {
			got = s.Counts
		}
		if diff = cmp.Diff(want, got, protocmp.Transform()); time.Since(begin) > soon {
			t.Fatal(diff)
		}
	}
}

func TestNothingIsKnownBeforeRun(t *testing.T) {
	b := board.New(jobs.New(nil), telemetry.Discard().Logger)
	if _, err := b.Job("j"); failure.KindOf(err) != failure.Unavailable || failure.KindOf(b.Ready()) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestCounts(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	create(t, store, "before", 100)
	decide(t, store, "before", 0, pb.Outcome_OUTCOME_SUCCEEDED)
	live := ready(t, follow(t, store))
	shows(t, live, "before", &pb.Counts{Succeeded: 1})
	create(t, store, "j", 130)
	for item, outcome := range map[uint32]pb.Outcome{
		0: pb.Outcome_OUTCOME_SUCCEEDED, 63: pb.Outcome_OUTCOME_SUCCEEDED, 64: pb.Outcome_OUTCOME_FAILED, 65: pb.Outcome_OUTCOME_DEAD,
		66: pb.Outcome_OUTCOME_CANCELLED, 128: pb.Outcome_OUTCOME_EXPIRED, 129: 99, // of a later version
	} {
		decide(t, store, "j", item, outcome)
	}
	decide(t, store, "j", 4711, pb.Outcome_OUTCOME_SUCCEEDED) // of no item
	want := &pb.Counts{Succeeded: 2, Failed: 2, Dead: 1, Cancelled: 1, Expired: 1}
	for name, b := range map[string]*board.Board{"live": live, "late": ready(t, follow(t, store))} {
		shows(t, b, "j", want)
		s, err := b.Job("j")
		if err != nil || s.Decided() != 7 || s.Undecided() != 123 || !b.Has("j", 129) || b.Has("j", 127) || b.Has("j", 4711) || !b.Dead("j", 65) || b.Dead("j", 64) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if diff := cmp.Diff([]uint32{1, 2}, b.Undecided("j", 0, 2)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := b.Job("other"); failure.KindOf(err) != failure.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	totals := live.Totals()
	if totals.Jobs[pb.State_STATE_ACCEPTED] != 2 || totals.Undecided != 123+99 || totals.UndecidedBytes != 100*(123+99) || totals.Dead != 1 || totals.Rate <= 0 || totals.BytesRate <= totals.Rate {
		t.Errorf("got %+v", totals)
	}
}

// A message of an item replaces the one before, so a board that comes late has not
// seen that.
func TestRequeued(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	create(t, store, "j", 4)
	live := ready(t, follow(t, store))
	for item := range uint32(3) {
		decide(t, store, "j", item, pb.Outcome_OUTCOME_DEAD)
	}
	shows(t, live, "j", &pb.Counts{Dead: 3})
	for item := range uint32(2) {
		decide(t, store, "j", item, pb.Outcome_OUTCOME_REQUEUED)
	}
	shows(t, live, "j", &pb.Counts{Dead: 1})
	decide(t, store, "j", 0, pb.Outcome_OUTCOME_SUCCEEDED)
	for name, b := range map[string]*board.Board{"live": live, "late": ready(t, follow(t, store))} {
		shows(t, b, "j", &pb.Counts{Dead: 1, Succeeded: 1})
		if !b.Requeued("j", 1) || b.Requeued("j", 0) || b.Has("j", 1) || b.Dead("j", 1) || !b.Dead("j", 2) {
			t.Errorf("%s: the marks are wrong", name)
		}
	}
}

// The end of a job, its opening again, and what comes then; the two streams are
// read apart.
func TestReopened(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	create(t, store, "j", 3)
	live := ready(t, follow(t, store))
	decide(t, store, "j", 0, pb.Outcome_OUTCOME_SUCCEEDED)
	decide(t, store, "j", 1, pb.Outcome_OUTCOME_DEAD)
	decide(t, store, "j", 2, pb.Outcome_OUTCOME_DEAD)
	shows(t, live, "j", &pb.Counts{Succeeded: 1, Dead: 2})
	s, err := live.Job("j")
	if err != nil {
		t.Fatal(err)
	}
	update(t, store, "j", func(j *pb.Job) {
		j.State, j.Counts, j.VerdictsAfter = pb.State_STATE_DONE, s.Counts, s.Sequence
	})
	testkit.Eventually(t, soon, "the job has ended", func() bool {
		s, err := live.Job("j")
		return err == nil && s.Record.GetState() == pb.State_STATE_DONE
	})
	// The mark comes before the record.
	decide(t, store, "j", 1, pb.Outcome_OUTCOME_REQUEUED)
	testkit.Eventually(t, soon, "the mark is seen", func() bool {
		now, err := live.Job("j")
		return err == nil && now.Sequence > s.Sequence
	})
	shows(t, live, "j", &pb.Counts{Succeeded: 1, Dead: 2})
	update(t, store, "j", func(j *pb.Job) { j.State, j.Reopened = pb.State_STATE_ACCEPTED, true })
	shows(t, live, "j", &pb.Counts{Succeeded: 1, Dead: 1})
	if died := live.Died("j"); !live.Dead("j", 2) || live.Dead("j", 1) || len(died) > 0 {
		t.Errorf("who died before is not known, and died no second time: %v", died)
	}
	late := ready(t, follow(t, store))
	shows(t, late, "j", &pb.Counts{Succeeded: 1, Dead: 1})
	decide(t, store, "j", 1, pb.Outcome_OUTCOME_SUCCEEDED)
	for name, b := range map[string]*board.Board{"live": live, "late": late, "later": ready(t, follow(t, store))} {
		shows(t, b, "j", &pb.Counts{Succeeded: 2, Dead: 1})
		if b.Undecided("j", 0, 9) != nil {
			t.Errorf("%s: not all items are decided", name)
		}
	}
}

// The record of a job comes after its verdicts: few are kept, many are read again.
func TestRecordIsLate(t *testing.T) {
	for name, items := range map[string]uint32{"few": 10, "many": board.MaxEarly + 100} {
		t.Run(name, func(t *testing.T) {
			store := natstest.Store(t, natstest.Server(t))
			b := ready(t, follow(t, store))
			var deciding sync.WaitGroup
			for part := range uint32(8) {
				deciding.Go(func() {
					for item := part; item < items; item += 8 {
						if _, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Item: item, Outcome: pb.Outcome_OUTCOME_SUCCEEDED}, 0); err != nil {
							t.Error(err)
						}
					}
				})
			}
			deciding.Wait()
			create(t, store, "j", items+1)
			shows(t, b, "j", &pb.Counts{Succeeded: items})
		})
	}
}

// The connection is lost, again and again: nothing is counted twice or missed.
func TestReconnects(t *testing.T) {
	nats, url := natstest.Outer(t, func(*server.Options) {})
	store := jobs.New(natstest.Connect(t, func(c *stream.Config) { c.URL = url }))
	if err := store.Connection().Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	writer := jobs.New(natstest.Connect(t, func(c *stream.Config) { c.URL = url }))
	create(t, writer, "j", 500)
	b := ready(t, follow(t, store))
	var told sync.Map
	stop := b.Hear(func(e board.Event) {
		if e.Job != "j" || e.Outcome == pb.Outcome_OUTCOME_UNSPECIFIED {
			return
		}
		if _, twice := told.LoadOrStore(e.Item, true); twice {
			t.Errorf("item %d is told twice", e.Item)
		}
	})
	defer stop()
	for item := range uint32(500) {
		decide(t, writer, "j", item, pb.Outcome_OUTCOME_SUCCEEDED)
		if item%100 == 50 {
			testkit.Eventually(t, soon, "the connection is cut", func() bool {
				id, err := store.Connection().JetStream().Conn().GetClientID()
				return err == nil && nats.DisconnectClientByID(id) == nil
			})
			create(t, writer, fmt.Sprintf("meanwhile-%d", item), 1)
			decide(t, writer, fmt.Sprintf("meanwhile-%d", item), 0, pb.Outcome_OUTCOME_SUCCEEDED)
		}
	}
	shows(t, b, "j", &pb.Counts{Succeeded: 500})
	for item := uint32(50); item < 500; item += 100 {
		shows(t, b, fmt.Sprintf("meanwhile-%d", item), &pb.Counts{Succeeded: 1})
	}
}

// Watchers are told of each kind of change, until they stop.
func TestWatch(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	b := ready(t, follow(t, store))
	changed, stop := b.Watch("j")
	told := func(what string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(soon):
			t.Fatalf("nothing is told of %s", what)
		}
	}
	create(t, store, "j", 3)
	told("a new job")
	decide(t, store, "j", 0, pb.Outcome_OUTCOME_SUCCEEDED)
	told("a verdict")
	update(t, store, "j", func(j *pb.Job) { j.State = pb.State_STATE_CANCELLING })
	told("a state")
	kv, err := store.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Purge(t.Context(), stream.JobRecord("j")); err != nil {
		t.Fatal(err)
	}
	told("the deletion")
	if _, err := b.Job("j"); failure.KindOf(err) != failure.NotFound {
		t.Errorf("got %v", err)
	}
	stop()
	stop()
	if n := b.Known(); n != 0 {
		t.Errorf("%d jobs are known", n)
	}
	create(t, store, "other", 1)
	shows(t, b, "other", &pb.Counts{})
	select {
	case <-changed:
		t.Error("something is told after the end")
	default:
	}
}

// Verdicts that are deleted or purged were counted.
func TestVerdictsGo(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	b := ready(t, follow(t, store))
	create(t, store, "j", 10)
	for item := range uint32(5) {
		decide(t, store, "j", item, pb.Outcome_OUTCOME_SUCCEEDED)
	}
	shows(t, b, "j", &pb.Counts{Succeeded: 5})
	verdicts, err := store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	if err := verdicts.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	decide(t, store, "j", 5, pb.Outcome_OUTCOME_FAILED)
	shows(t, b, "j", &pb.Counts{Succeeded: 5, Failed: 1})
	// All is made anew: what was counted is not there.
	if err := store.Connection().JetStream().DeleteStream(t.Context(), stream.Verdicts); err != nil {
		t.Fatal(err)
	}
	if err := store.Connection().Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	decide(t, store, "j", 7, pb.Outcome_OUTCOME_DEAD)
	shows(t, b, "j", &pb.Counts{Dead: 1})
}

// Those of 10,000 jobs that a list shows are found quickly, the newest first.
func TestEach(t *testing.T) {
	b := board.New(jobs.New(nil), telemetry.Discard().Logger)
	b.Begin()
	const jobsThere = 10_000
	plan := make([]byte, 2000)
	before := testkit.Resident(t)
	for i := range jobsThere {
		copied := append([]byte(nil), plan...)
		b.Write(&pb.Job{Id: fmt.Sprintf("job-%05d", i), Model: "classify", State: pb.State_STATE_ACCEPTED, Items: 100, CreatedMs: int64(i / 2), Plan: copied}, uint64(i+1))
	}
	t.Logf("%d bytes a job", (testkit.Resident(t)-before)/jobsThere)
	begin := time.Now()
	var ids []string
	b.Each(func(s *board.Snapshot) bool {
		ids = append(ids, s.Record.GetId())
		return len(ids) < 3
	})
	took := time.Since(begin)
	if diff := cmp.Diff([]string{"job-09999", "job-09998", "job-09997"}, ids); diff != "" || took > time.Second {
		t.Errorf("after %s: %s", took, diff)
	}
	t.Logf("a list of 3 in %s", took)
	begin = time.Now()
	n := 0
	b.Each(func(*board.Snapshot) bool { n++; return true })
	if took := time.Since(begin); n != jobsThere || took > 2*time.Second {
		t.Errorf("%d jobs in %s", n, took)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	var p board.Pace
	if got := p.Rate(start); got != 0 {
		t.Errorf("nothing has a rate of %g", got)
	}
	for i := range 100 {
		p.Add(at(float64(i)/10), 1)
	}
	if got := p.Rate(at(10)); got < 9 || got > 11 {
		t.Errorf("10 a second are %g", got)
	}
	if got := p.Rate(at(14)); got < 3 || got > 7 {
		t.Errorf("and 4 s later %g", got)
	}
	if got := p.Rate(at(40)); got != 0 {
		t.Errorf("and after a while %g", got)
	}
	p.Add(at(40), 7)
	if got := p.Rate(at(40)); got != 7 {
		t.Errorf("at once: %g", got)
	}
}

// A board that has ended leaves no consumer in the server.
func TestLeavesNothing(t *testing.T) {
	store := natstest.Store(t, natstest.Server(t))
	verdicts, err := store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	b := board.New(store, telemetry.Discard().Logger)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	ready(t, b)
	cancel()
	running.Wait()
	if info, err := verdicts.Info(t.Context()); err != nil || info.State.Consumers != 0 {
		t.Errorf("%d consumers are left: %v", info.State.Consumers, err)
	}
}
