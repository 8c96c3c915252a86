package feed_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/gateway/jobs/feed"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// counts compares what became of a job's items.
func counts(t *testing.T, job *pb.Job, want *pb.Counts) {
	t.Helper()
	if diff := cmp.Diff(want, job.GetCounts(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func blob(t *testing.T, store *jobs.Store, bucket, key string, data []byte) *pb.Blob {
	t.Helper()
	b, err := store.Connection().PutBlob(t.Context(), bucket, key, data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func verdict(t *testing.T, store *jobs.Store, id string, item uint32) *pb.Verdict {
	t.Helper()
	v, _, err := store.Verdict(t.Context(), id, item)
	if err != nil {
		t.Fatalf("item %d: %v", item, err)
	}
	return v
}

// Each kind of input becomes what the first step takes, and what can't is a verdict.
func TestInputs(t *testing.T) {
	store := newSystem(t).store()
	serve(t, store, &models{})
	newGateway(t, store, quick(), telemetry.Discard())
	request := &inference.ModelInferRequest{Id: "mine"}
	oip.AddInput(request, oip.Tensor{Name: "IMAGE", Datatype: "BYTES", Shape: []int64{1}, Data: oip.JoinStrings("asked")})
	serialized, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	stored := blob(t, store, stream.Blobs, jobs.InputBlob("j", 1), []byte("stored"))
	storedRequest := blob(t, store, stream.Blobs, jobs.InputBlob("j", 3), serialized)
	changed := blob(t, store, stream.Uploads, "changed.jpg", []byte("before"))
	blob(t, store, stream.Uploads, "changed.jpg", []byte("after!"))
	sum := sha256.Sum256([]byte("gone"))
	accept(t, store, "j", 8, func(_ *pb.Job, items []*pb.Item) {
		items[1].Input = &pb.Item_Blob{Blob: stored}
		items[2].Input = &pb.Item_Request{Request: request}
		items[3].Input = &pb.Item_RequestBlob{RequestBlob: storedRequest}
		items[4].Input = &pb.Item_Error{Error: &pb.Error{Kind: "BROKEN_IMAGE", Message: "no image"}}
		items[5].Input = &pb.Item_Blob{Blob: changed}
		items[6].Input = &pb.Item_Blob{Blob: &pb.Blob{Bucket: stream.Uploads, Key: "gone.jpg", Size: 4, Digest: sum[:]}}
		items[7].Input = nil
	})
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 4, Failed: 4})
	for item, want := range []string{"image 0", "stored", "asked", "asked"} {
		v := verdict(t, store, "j", uint32(item))
		out, _ := oip.Output(v.GetResponse(), "ANSWER")
		if got := oip.JoinStrings(want); !bytes.Equal(got, out.Data) || v.GetName() != fmt.Sprintf("%d.jpg", item) || v.GetRequestId() != "request-j" {
			t.Errorf("item %d of name %q: %q", item, v.GetName(), out.Data)
		}
	}
	for item, want := range map[uint32]string{4: "BROKEN_IMAGE", 5: failure.Conflict.String(), 6: failure.NotFound.String(), 7: failure.Invalid.String()} {
		if v := verdict(t, store, "j", item); v.GetOutcome() != pb.Outcome_OUTCOME_FAILED || v.GetError().GetKind() != want || v.GetName() == "" {
			t.Errorf("item %d: %s %v", item, v.GetOutcome(), v.GetError())
		}
	}
	testkit.Eventually(t, soon, "the page and its blobs are dropped", func() bool {
		_, first := store.Connection().GetBlob(t.Context(), stored, 0)
		_, second := store.Connection().GetBlob(t.Context(), storedRequest, 0)
		return len(pages(t, store, "j")) == 0 && failure.KindOf(first) == failure.NotFound && failure.KindOf(second) == failure.NotFound
	})
	if _, err := store.Connection().GetBlob(t.Context(), changed, 0); failure.KindOf(err) != failure.Conflict {
		t.Errorf("what a user put there is not ours to delete: %v", err)
	}
}

// A dead verdict whose letter was never written gets it.
func TestLetterIsMissing(t *testing.T) {
	store := newSystem(t).store()
	newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "j", 1)
	if won, err := store.Decide(t.Context(), &pb.Verdict{Job: "j", Outcome: pb.Outcome_OUTCOME_DEAD, Step: "a", Started: 1}, 0); !won || err != nil {
		t.Fatal(err)
	}
	counts(t, ended(t, store, "j"), &pb.Counts{Dead: 1})
	if letter, err := store.Dead(t.Context(), "j", 0); err != nil || letter.GetStep() != "a" {
		t.Errorf("%v, %v", letter, err)
	}
}

// An urgent job, and one that is small, need not wait for a huge one.
func TestFairness(t *testing.T) {
	store := newSystem(t).store()
	serve(t, store, &models{before: slowly(10 * time.Millisecond)})
	cfg := quick()
	cfg.Credit = 64
	newGateway(t, store, cfg, telemetry.Discard())
	accept(t, store, "huge", 10_000, func(j *pb.Job, _ []*pb.Item) { j.Priority = 3 })
	testkit.Eventually(t, soon, "the huge one is on its way", func() bool { _, _, err := store.Verdict(t.Context(), "huge", 10); return err == nil })
	for i := range 6 { // more than are fed at once
		accept(t, store, fmt.Sprintf("small-%d", i), 20, func(j *pb.Job, _ []*pb.Item) { j.Priority = 3 })
	}
	accept(t, store, "urgent", 200, func(j *pb.Job, _ []*pb.Item) { j.Priority = 1 })
	ended(t, store, "urgent")
	for i := range 6 {
		ended(t, store, fmt.Sprintf("small-%d", i))
	}
	_, err := store.Update(t.Context(), "huge", func(j *pb.Job) error {
		if j.GetState() != pb.State_STATE_ACCEPTED {
			return errors.New("the huge one has ended too")
		}
		j.State = pb.State_STATE_CANCELLING
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if job := ended(t, store, "huge"); job.GetState() != pb.State_STATE_CANCELLED || job.GetCounts().GetSucceeded() == 0 || job.GetCounts().GetSucceeded()+job.GetCounts().GetCancelled() != 10_000 {
		t.Errorf("%s: %v", job.GetState(), job.GetCounts())
	}
}

// Deadlines are by the time of day, which may jump; nothing else is.
func TestClockJumps(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store := newSystem(t).store()
	cfg := quick()
	cfg.Now, cfg.Collect, cfg.Orphans = clock, 100*time.Millisecond, time.Hour
	newGateway(t, store, cfg, telemetry.Discard())
	inHalfAnHour := func(j *pb.Job, _ []*pb.Item) { j.DeadlineMs = time.Now().Add(30 * time.Minute).UnixMilli() }
	accept(t, store, "back", 10, inHalfAnHour)
	ack, err := store.PutPage("coming", 0, &pb.Page{Items: []*pb.Item{{}}})
	if err != nil || jobs.Stored(t.Context(), ack) != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(-time.Hour))
	time.Sleep(2 * time.Second) // nothing is to happen
	if job, err := store.Job(t.Context(), "back"); err != nil || job.GetState() != pb.State_STATE_ACCEPTED {
		t.Fatalf("%v, %v", job, err)
	}
	ahead.Store(int64(time.Hour))
	counts(t, ended(t, store, "back"), &pb.Counts{Expired: 10})
	if v := verdict(t, store, "back", 3); v.GetName() != "3.jpg" {
		t.Errorf("got %v", v)
	}
	testkit.Eventually(t, soon, "the pages of the job are dropped", func() bool { return len(pages(t, store, "back")) == 0 })
	if len(pages(t, store, "coming")) != 1 {
		t.Error("what is being accepted is deleted when the clock jumps")
	}
	serve(t, store, &models{})
	accept(t, store, "later", 10)
	counts(t, ended(t, store, "later"), &pb.Counts{Succeeded: 10})
}

// After the retention nothing of a job is left, and what belongs to no job goes too.
func TestRetention(t *testing.T) {
	var ahead atomic.Int64
	cfg := quick()
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	cfg.Collect, cfg.Orphans = 100*time.Millisecond, 500*time.Millisecond
	store := newSystem(t).store()
	p := &poison{}
	serve(t, store, &models{before: p.before})
	g := newGateway(t, store, cfg, telemetry.Discard())
	kept := blob(t, store, stream.Blobs, jobs.InputBlob("j", 7), []byte("image 7"))
	job := &pb.Job{}
	accept(t, store, "j", 20, func(j *pb.Job, items []*pb.Item) {
		items[7].Input = &pb.Item_Blob{Blob: kept}
		j.Idempotency = []byte("key")
		job = j
	})
	if err := store.ClaimKey(t.Context(), job, 0); err != nil {
		t.Fatal(err)
	}
	stray := blob(t, store, stream.Blobs, "nobody/input/0", []byte("stray"))
	ack, err := store.PutPage("nobody", 0, &pb.Page{Items: []*pb.Item{{}}})
	if err != nil || jobs.Stored(t.Context(), ack) != nil {
		t.Fatal(err)
	}
	counts(t, ended(t, store, "j"), &pb.Counts{Succeeded: 18, Dead: 2})
	testkit.Eventually(t, soon, "stray pages go", func() bool { return len(pages(t, store, "nobody")) == 0 })
	if err := store.Create(t.Context(), &pb.Job{Id: "nobody", State: pb.State_STATE_ACCEPTED, Items: 1}); failure.KindOf(err) != failure.Conflict {
		t.Errorf("a job whose pages were deleted can be accepted: %v", err)
	}
	if _, err := store.Connection().GetBlob(t.Context(), kept, 0); err != nil || len(pages(t, store, "j")) != 1 {
		t.Errorf("what a dead item needs is not kept: %v", err)
	}
	ahead.Store(int64(25 * time.Hour))
	testkit.Eventually(t, soon, "all is gone", func() bool {
		_, err := g.board.Job("j")
		_, _, verdict := store.Verdict(t.Context(), "j", 3)
		_, letter := store.Dead(t.Context(), "j", 7)
		_, _, key := store.Key(t.Context(), []byte("key"))
		_, own := store.Connection().GetBlob(t.Context(), kept, 0)
		_, other := store.Connection().GetBlob(t.Context(), stray, 0)
		for _, err := range []error{err, verdict, letter, key, own, other} {
			if failure.KindOf(err) != failure.NotFound {
				return false
			}
		}
		return len(pages(t, store, "j")) == 0
	})
}

// Tasks of a cancelled job whose model nobody serves go with the job: run later, they
// would leave results and letters of a job that is not there.
func TestRetentionOfTasks(t *testing.T) {
	var ahead atomic.Int64
	cfg := quick()
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	cfg.Collect = 100 * time.Millisecond
	store := newSystem(t).store()
	g := newGateway(t, store, cfg, telemetry.Discard())
	accept(t, store, "j", 5)
	if err := store.Connection().EnsureModel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	tasks, err := store.Connection().JetStream().Stream(t.Context(), stream.StepStream("a"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := func() uint64 {
		info, err := tasks.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Msgs
	}
	testkit.Eventually(t, soon, "all wait", func() bool { return waiting() == 5 })
	if _, err := store.Update(t.Context(), "j", func(j *pb.Job) error {
		j.State = pb.State_STATE_CANCELLING
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	counts(t, ended(t, store, "j"), &pb.Counts{Cancelled: 5})
	ahead.Store(int64(25 * time.Hour))
	testkit.Eventually(t, soon, "the job is gone", func() bool {
		_, err := g.board.Job("j")
		return failure.KindOf(err) == failure.NotFound
	})
	if n := waiting(); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}

// A page that is gone although the job needs it ends the job all the same.
func TestInputIsGone(t *testing.T) {
	store := newSystem(t).store()
	serve(t, store, &models{})
	if err := store.Create(t.Context(), &pb.Job{Id: "j", Model: "chain", State: pb.State_STATE_ACCEPTED, Plan: planOf(t, chain), Items: 3, Pages: 1}); err != nil {
		t.Fatal(err)
	}
	newGateway(t, store, quick(), telemetry.Discard())
	counts(t, ended(t, store, "j"), &pb.Counts{Failed: 3})
}

// A plan that can't be run is every item's failure.
func TestPlanIsBroken(t *testing.T) {
	store := newSystem(t).store()
	newGateway(t, store, quick(), telemetry.Discard())
	accept(t, store, "j", 3, func(j *pb.Job, _ []*pb.Item) { j.Plan = []byte{0xff} })
	counts(t, ended(t, store, "j"), &pb.Counts{Failed: 3})
}

// caller fails so often, and then takes it.
type caller struct {
	mu    sync.Mutex
	fails []error
	calls []*pb.Job
}

func (c *caller) Call(_ context.Context, job *pb.Job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, job)
	if n := len(c.calls); n <= len(c.fails) {
		return c.fails[n-1]
	}
	return nil
}

func (c *caller) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func TestCallback(t *testing.T) {
	t.Parallel()
	away := failure.New(failure.Unavailable, "it answered 503")
	away.RetryAfter = time.Millisecond
	for name, tt := range map[string]struct {
		fails []error
		calls int
		want  *pb.Callback
	}{
		"once":        {nil, 1, &pb.Callback{Attempts: 1}},
		"tried again": {[]error{away, away}, 3, &pb.Callback{Attempts: 3}},
		"forbidden":   {[]error{failure.New(failure.Forbidden, "a private address")}, 1, &pb.Callback{Attempts: 1, GivenUp: true, Error: "a private address"}},
		"given up":    {[]error{away, away, away, away, away, away, away, away, away, away, away, away}, 12, &pb.Callback{Attempts: 12, GivenUp: true, Error: "it answered 503"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			store := s.store()
			serve(t, store, &models{})
			c := &caller{fails: tt.fails}
			cfg := quick()
			cfg.Callback, cfg.CallbackDelay = c, time.Millisecond
			g := newGateway(t, store, cfg, telemetry.Discard())
			accept(t, store, "j", 3, func(j *pb.Job, _ []*pb.Item) { j.CallbackUrl = "https://example.com/hook" })
			ended(t, store, "j")
			var got *pb.Callback
			testkit.Eventually(t, soon, "the callback is done with", func() bool {
				job, err := store.Job(t.Context(), "j")
				got = job.GetCallback()
				return err == nil && (got.GetDeliveredMs() > 0 || got.GetGivenUp())
			})
			g.end()
			newGateway(t, store, cfg, telemetry.Discard()) // another leader does not call again
			time.Sleep(1500 * time.Millisecond)            // nothing is to happen
			if c.called() != tt.calls || c.calls[0].GetState() != pb.State_STATE_DONE {
				t.Errorf("%d calls", c.called())
			}
			got.DeliveredMs = 0
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var _ feed.Caller = (*caller)(nil)

func TestConfig(t *testing.T) {
	valid := feed.DefaultConfig()
	if err := valid.Validate(); err != nil {
		t.Fatal(err)
	}
	for flag, spoil := range map[string]func(*feed.Config){
		"jobs-credit":         func(c *feed.Config) { c.Credit = 7 },
		"jobs-lost-after":     func(c *feed.Config) { c.LostAfter = time.Millisecond },
		"jobs-takeover-after": func(c *feed.Config) { c.Takeover = 0 },
	} {
		cfg := feed.DefaultConfig()
		spoil(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
