package stream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit/natstest"
)

// names are all that one model and all jobs have.
var names = []string{
	"TRIPTYCH_INPUTS", "TRIPTYCH_VERDICTS", "TRIPTYCH_DEAD", "TRIPTYCH_NOTES", "TRIPTYCH_NAKS", "KV_triptych", "OBJ_triptych-blobs", "OBJ_triptych-uploads", "OBJ_triptych-tensors",
	"TRIPTYCH_STEP_a_5fmodel", "TRIPTYCH_STEP_a_5fmodel/level-1", "TRIPTYCH_STEP_a_5fmodel/level-2", "TRIPTYCH_STEP_a_5fmodel/level-3",
}

// states are the names of changes by their state.
func states(changes []stream.Change) map[string][]string {
	found := map[string][]string{}
	for _, c := range changes {
		found[c.State] = append(found[c.State], c.Name)
	}
	return found
}

func apply(t *testing.T, c *stream.Connection) []stream.Change {
	t.Helper()
	changes, err := c.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestEverythingIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := natstest.Connect(t, natstest.In(natstest.Server(t)))
	status, err := c.Status(t.Context())
	if diff := cmp.Diff(map[string][]string{stream.Missing: names[:9]}, states(status)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff(map[string][]string{stream.Made: names[:9]}, states(apply(t, c))); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		if err := c.EnsureModel(t.Context(), "a_model"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string][]string{stream.Left: names}, states(apply(t, c))); diff != "" {
			t.Error(diff)
		}
	}
	status, err = c.Status(t.Context())
	if diff := cmp.Diff(map[string][]string{stream.Left: names}, states(status)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bucket := range []string{stream.Blobs, stream.Tensors, stream.Uploads} {
		if _, err := c.JetStream().ObjectStore(t.Context(), bucket); err != nil {
			t.Errorf("the client does not find the bucket %s: %v", bucket, err)
		}
	}
	if _, err := c.JetStream().KeyValue(t.Context(), stream.Records); err != nil {
		t.Error(err)
	}
}

func TestChangedLimitsAreApplied(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*stream.Limits)
		want   map[string]string
	}{
		"nothing":  {func(*stream.Limits) {}, nil},
		"backlog":  {func(l *stream.Limits) { l.BacklogBytes = 3 << 30 }, map[string]string{"TRIPTYCH_INPUTS": "max_bytes 2147483648 -> 3221225472"}},
		"less":     {func(l *stream.Limits) { l.VerdictBytes = 1 << 20 }, map[string]string{"TRIPTYCH_VERDICTS": "max_bytes 1073741824 -> 1048576"}},
		"dead":     {func(l *stream.Limits) { l.DeadBytes = 1 << 20 }, map[string]string{"TRIPTYCH_DEAD": "max_bytes 67108864 -> 1048576"}},
		"records":  {func(l *stream.Limits) { l.RecordBytes = 1 << 20 }, map[string]string{"KV_triptych": "max_bytes 268435456 -> 1048576"}},
		"objects":  {func(l *stream.Limits) { l.BlobBytes = 1 << 20 }, map[string]string{"OBJ_triptych-blobs": "max_bytes 2147483648 -> 1048576", "OBJ_triptych-uploads": "max_bytes 2147483648 -> 1048576"}},
		"notes":    {func(l *stream.Limits) { l.NoteBytes = 1 << 20 }, map[string]string{"TRIPTYCH_NOTES": "max_bytes 268435456 -> 1048576", "TRIPTYCH_NAKS": "max_bytes 16777216 -> 1048576", "OBJ_triptych-tensors": "max_bytes 268435456 -> 1048576"}},
		"steps":    {func(l *stream.Limits) { l.StepBytes, l.StepMessages = 1<<20, 16 }, map[string]string{"TRIPTYCH_STEP_a_5fmodel": "max_bytes 134217728 -> 1048576, max_msgs 4096 -> 16"}},
		"ack wait": {func(l *stream.Limits) { l.AckWait = time.Minute }, map[string]string{"TRIPTYCH_STEP_a_5fmodel/level-1": "ack_wait 30s -> 1m0s", "TRIPTYCH_STEP_a_5fmodel/level-2": "ack_wait 30s -> 1m0s", "TRIPTYCH_STEP_a_5fmodel/level-3": "ack_wait 30s -> 1m0s"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natstest.Server(t)
			first := natstest.Store(t, s).Connection()
			if err := first.EnsureModel(t.Context(), "a_model"); err != nil {
				t.Fatal(err)
			}
			change := func(c *stream.Config) { test.change(&c.Limits) }
			// One who follows changes nothing, and says what differs.
			follower := natstest.Connect(t, natstest.In(s), change, func(c *stream.Config) { c.Follow = true })
			if got := states(apply(t, follower)); len(got) != 1 {
				t.Errorf("a follower changes %v", got)
			}
			if diff := cmp.Diff(test.want, details(t, stream.Different, status(t, follower))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.want, details(t, stream.Changed, apply(t, natstest.Connect(t, natstest.In(s), change)))); diff != "" {
				t.Error(diff)
			}
			if got := states(status(t, follower)); len(got[stream.Left]) != len(names) {
				t.Errorf("afterwards it is %v", got)
			}
		})
	}
}

func status(t *testing.T, c *stream.Connection) []stream.Change {
	t.Helper()
	changes, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func details(t *testing.T, state string, changes []stream.Change) map[string]string {
	t.Helper()
	var found map[string]string
	for _, c := range changes {
		if c.State == state {
			if found == nil {
				found = map[string]string{}
			}
			found[c.Name] = c.Detail
		}
	}
	return found
}

// A stream that drops the oldest is made to refuse the newest; what is in it stays,
// also when the new limit is below that.
func TestDiscardIsMigrated(t *testing.T) {
	t.Parallel()
	s := natstest.Server(t)
	js := natstest.Connect(t, natstest.In(s)).JetStream()
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: stream.Inputs, Subjects: []string{stream.InputSubject("*", "*")}, Discard: jetstream.DiscardOld, MaxBytes: 8 << 20}); err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 512<<10)
	for range 4 {
		if _, err := js.Publish(t.Context(), stream.InputSubject("j", "0"), page); err != nil {
			t.Fatal(err)
		}
	}
	c := natstest.Connect(t, natstest.In(s), func(c *stream.Config) { c.Limits.BacklogBytes = 1 << 20 })
	detail := details(t, stream.Changed, apply(t, c))[stream.Inputs]
	if !strings.Contains(detail, "discard DiscardOld -> DiscardNew") {
		t.Errorf("the change is %q", detail)
	}
	_, err := js.Publish(t.Context(), stream.InputSubject("j", "0"), page)
	if err := stream.Failure(err); failure.KindOf(err) != failure.Busy {
		t.Errorf("a full stream says %v", err)
	}
	for _, c := range status(t, c) {
		if c.Name == stream.Inputs && c.Messages != 4 {
			t.Errorf("%d messages are left of 4", c.Messages)
		}
	}
}

func TestIncompatibleStreams(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		there jetstream.StreamConfig
		want  string
	}{
		"storage": {
			jetstream.StreamConfig{Name: stream.Inputs, Subjects: []string{"triptych.input.*.*"}, Storage: jetstream.MemoryStorage},
			"the stream TRIPTYCH_INPUTS has storage Memory and needs File, which NATS can't change: when no job is open, delete it and start again",
		},
		"retention": {
			jetstream.StreamConfig{Name: stream.Verdicts, Subjects: []string{"triptych.verdict.*.*"}, Retention: jetstream.WorkQueuePolicy},
			"the stream TRIPTYCH_VERDICTS has retention WorkQueue and needs Limits, which NATS can't change: when no job is open, delete it and start again",
		},
		"subjects": {
			jetstream.StreamConfig{Name: stream.Dead, Subjects: []string{"dead.>", "a"}},
			"the stream TRIPTYCH_DEAD has subjects a,dead.> and needs triptych.dead.*.*, which NATS can't change: when no job is open, delete it and start again",
		},
		"a bucket": {
			jetstream.StreamConfig{Name: "KV_triptych", Subjects: []string{"$KV.triptych.>"}, Storage: jetstream.MemoryStorage, DenyDelete: true},
			"the stream KV_triptych has storage Memory and needs File, which NATS can't change: when no job is open, delete it and start again",
		},
		"others' subjects": {
			jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"triptych.>"}},
			"the stream TRIPTYCH_INPUTS can't be made or changed: subjects overlap with an existing stream",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := natstest.Connect(t, natstest.In(natstest.Server(t)))
			if _, err := c.JetStream().CreateStream(t.Context(), test.there); err != nil {
				t.Fatal(err)
			}
			err := c.Ensure(t.Context())
			if failure.KindOf(err) != failure.Conflict || failure.Message(err) != test.want {
				t.Errorf("got %s %q, want %q", failure.KindOf(err), failure.Message(err), test.want)
			}
		})
	}
}

func TestIncompatibleConsumer(t *testing.T) {
	t.Parallel()
	c := made(t)
	if err := c.EnsureModel(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	name := stream.StepStream("m")
	if err := c.JetStream().DeleteConsumer(t.Context(), name, stream.StepConsumer(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.JetStream().CreateConsumer(t.Context(), name, jetstream.ConsumerConfig{Durable: stream.StepConsumer(2), AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "triptych.step.m.2.j.>"}); err != nil {
		t.Fatal(err)
	}
	const want = "the consumer TRIPTYCH_STEP_m/level-2 has filter_subject triptych.step.m.2.j.> and needs triptych.step.m.2.>, which NATS can't change: when no job is open, delete it and start again"
	if err := c.EnsureModel(t.Context(), "m"); failure.KindOf(err) != failure.Conflict || failure.Message(err) != want {
		t.Errorf("got %s %q, want %q", failure.KindOf(err), failure.Message(err), want)
	}
}

// Many processes make and change the same at once, with different limits.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := natstest.Server(t)
	var group errgroup.Group
	for i := range 8 {
		c := natstest.Connect(t, natstest.In(s), func(c *stream.Config) { c.Limits.BacklogBytes += int64(i%2) << 20 })
		group.Go(func() error { return c.Ensure(t.Context()) })
		group.Go(func() error { return c.EnsureModel(t.Context(), "a_model") })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if got := states(status(t, natstest.Connect(t, natstest.In(s)))); len(got[stream.Missing]) > 0 {
		t.Errorf("it is %v", got)
	}
}

// Many make the same at once on a server that has room for it just once.
func TestManyAtOnceWithLittleRoom(t *testing.T) {
	t.Parallel()
	const room = 64 << 20
	s := natstest.Server(t, func(c *embedded.Config) { c.MaxBytes = room })
	var group errgroup.Group
	for range 4 {
		c := natstest.Connect(t, natstest.In(s), func(c *stream.Config) { c.Limits, _ = c.Limits.Fit(room, nil) })
		group.Go(func() error { return c.Ensure(t.Context()) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// What is too small says which limit to lower.
func TestNoRoomOnTheServer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files, memory int64
		want          string
	}{
		"files":   {1 << 30, 1 << 30, "the stream TRIPTYCH_INPUTS can't be made or changed: NATS has no 2147483648 bytes left on its disk (max_file_store); lower --jobs-backlog-bytes, or give NATS more"},
		"objects": {4 << 30, 1 << 30, "the stream OBJ_triptych-blobs can't be made or changed: NATS has no 2147483648 bytes left on its disk (max_file_store); lower --jobs-object-bytes, or give NATS more"},
		"memory":  {20 << 30, 1 << 20, "the stream TRIPTYCH_NOTES can't be made or changed: NATS has no 268435456 bytes left in its memory (max_memory_store); lower --jobs-note-bytes, or give NATS more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := natstest.Outer(t, func(o *server.Options) { o.JetStreamMaxStore, o.JetStreamMaxMemory = test.files, test.memory })
			c := natstest.Connect(t, func(c *stream.Config) { c.URL = url })
			if err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Ensure(t.Context()); failure.Message(err) != test.want {
				t.Errorf("got %q, want %q", failure.Message(err), test.want)
			}
		})
	}
}

func TestModelsNeedMemory(t *testing.T) {
	t.Parallel()
	_, url := natstest.Outer(t, func(o *server.Options) { o.JetStreamMaxMemory = 600 << 20 })
	c := natstest.Connect(t, func(c *stream.Config) { c.URL = url })
	if err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "the stream TRIPTYCH_STEP_m can't be made or changed: NATS has no 134217728 bytes left in its memory (max_memory_store); lower --jobs-step-bytes, or give NATS more"
	if err := c.EnsureModel(t.Context(), "m"); failure.Message(err) != want {
		t.Errorf("got %q, want %q", failure.Message(err), want)
	}
}

// An image that is not put into the object store must fit into a message.
func TestSmallMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload int32
		inline  int
		page    int
		want    string
	}{
		"the server's default": {1 << 20, 256 << 10, 768 << 10, ""},
		"just":                 {64 << 10, 56 << 10, 60 << 10, ""},
		"too small":            {64 << 10, 56<<10 + 1, 60 << 10, "--jobs-inline-bytes is 57345, must be 57344 or less: NATS takes messages of 65536 bytes (max_payload), and pages of items have at most 786432"},
		"above a page":         {8 << 20, 1 << 20, 768 << 10, "--jobs-inline-bytes is 1048576, must be 782336 or less: NATS takes messages of 8388608 bytes (max_payload), and pages of items have at most 786432"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := natstest.Outer(t, func(o *server.Options) { o.MaxPayload = test.payload })
			c := natstest.Connect(t, func(c *stream.Config) { c.URL, c.Limits.InlineBytes = url, test.inline })
			if err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Ensure(t.Context()); (err == nil) != (test.want == "") || err != nil && failure.Message(err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if got := c.PageBytes(); got != test.page {
				t.Errorf("a page has %d bytes, want %d", got, test.page)
			}
		})
	}
}
