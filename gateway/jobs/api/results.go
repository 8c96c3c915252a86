package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"triptych/gateway/web"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
)

const (
	// ahead is how many verdicts are read before the client wants them. They are not
	// bounded by bytes: then the server says at the end of each request that it is
	// complete, which finds no room beside the verdicts that wait, and when it is lost
	// nobody asks for more.
	ahead = 64
	// glance is how long results may rest before it is asked again whether the job
	// has ended.
	glance = 2 * time.Second
)

// results writes what became of each item, one line each, as it happens.
func (a *API) results(c *gin.Context) error {
	r, err := a.resultsOf(c)
	if err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	defer func() { r.leave() }()
	if r.stream, err = web.NewStream(c, "application/x-ndjson"); err != nil {
		return err
	}
	return r.run()
}

// results is one answer that streams a job's verdicts.
type results struct {
	api      *API
	ctx      context.Context //nolint:containedctx // it is the request's
	job      string
	cursor   uint64
	follow   bool
	only     []pb.Outcome // empty: all
	stream   *web.Stream
	encode   *json.Encoder
	messages jetstream.MessagesContext
	leave    func() // ends messages
	// pending is whether the store has more than what was written, and stalled whether
	// it was to have more, which did not come.
	pending, stalled bool
}

func (a *API) resultsOf(c *gin.Context) (*results, error) {
	r := &results{api: a, ctx: c.Request.Context(), follow: true}
	var err error
	if text := c.Query("cursor"); text != "" {
		if r.cursor, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, failure.New(failure.Invalid, "the cursor is none that results have given")
		}
	}
	if text := c.Query("follow"); text != "" {
		if r.follow, err = strconv.ParseBool(text); err != nil {
			return nil, failure.New(failure.Invalid, "follow must be true or false")
		}
	}
	for _, name := range c.QueryArray("outcome") {
		outcome := jobs.OutcomeNamed(name)
		if outcome == pb.Outcome_OUTCOME_UNSPECIFIED || outcome == pb.Outcome_OUTCOME_REQUEUED || outcome != shown(outcome) {
			return nil, failure.New(failure.Invalid, "outcome is %s, must be succeeded, failed, dead, cancelled or expired", failure.Quote(name))
		}
		r.only = append(r.only, outcome)
	}
	s, err := a.find(r.ctx, c.Param("id"))
	if err != nil {
		return nil, err
	}
	r.job = s.Record.GetId()
	return r, r.checkCursor()
}

// checkCursor refuses a cursor beyond all verdicts: who has it would be told of an end
// before the results.
func (r *results) checkCursor() error {
	verdicts, err := r.api.store.Connection().JetStream().Stream(r.ctx, stream.Verdicts)
	if err != nil {
		return stream.Failure(err)
	}
	if r.cursor > verdicts.CachedInfo().State.LastSeq {
		return failure.New(failure.Invalid, "the cursor is none that results have given")
	}
	return nil
}

// open begins to read the verdicts after the cursor, until leave.
func (r *results) open() error {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{stream.VerdictSubject(r.job, "*")}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.cursor + 1,
	}
	consumer, drop, err := r.api.store.Connection().Reader(r.ctx, stream.Verdicts, cfg)
	if err != nil {
		return failure.Wrap(err, failure.Unavailable, "the results can't be read now")
	}
	r.pending, r.stalled = consumer.CachedInfo().NumPending > 0, false
	messages, err := consumer.Messages(jetstream.PullMaxMessages(ahead))
	if err != nil {
		drop()
		return stream.Failure(err)
	}
	r.messages, r.leave = messages, func() {
		messages.Stop()
		drop()
	}
	return nil
}

// reopen reads on by another consumer. The client finds out by itself that a request
// for more was lost, as one is when its server dies, but only who waits for longer
// than is waited here.
func (r *results) reopen() error {
	r.leave()
	r.leave = func() {}
	return r.open()
}

// run writes lines until the job has ended and all of its verdicts were written, or,
// when it does not follow, until there are no more now.
func (r *results) run() error {
	r.encode = json.NewEncoder(r.stream)
	r.encode.SetEscapeHTML(false)
	changed, unwatch := r.api.board.Watch(r.job)
	defer unwatch()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(r.api.ending, cancel)()
	for {
		for r.pending {
			if err := r.next(ctx); err != nil {
				return err
			}
		}
		if over, err := r.over(ctx); over || err != nil {
			return err
		}
		if err := r.stream.Flush(); err != nil {
			return err
		}
		if err := r.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// next writes the next verdict. What was there a moment ago may have been deleted
// with its job: then nothing is waited for.
func (r *results) next(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	msg, err := r.messages.Next(jetstream.NextContext(patience))
	if err != nil && patience.Err() != nil && ctx.Err() == nil {
		r.pending, r.stalled = false, true // until over has asked again
		return nil
	}
	if err != nil {
		return stream.Failure(err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return stream.Failure(err)
	}
	r.cursor, r.pending, r.stalled = meta.Sequence.Stream, meta.NumPending > 0, false
	outcome := jobs.OutcomeNamed(stream.HeaderValue(msg.Headers(), stream.OutcomeHeader))
	if outcome == pb.Outcome_OUTCOME_REQUEUED || len(r.only) > 0 && !slices.Contains(r.only, shown(outcome)) {
		return nil
	}
	v := &pb.Verdict{}
	if err := proto.Unmarshal(msg.Data(), v); err != nil {
		return failure.Wrap(err, failure.Internal, "a verdict can't be read")
	}
	l, err := r.api.lineOf(ctx, v, r.cursor)
	if err != nil {
		return err
	}
	return r.encode.Encode(l)
}

// over tells whether everything was written, and then writes the last line when the
// job has ended. The order matters: a job that has ended has all its verdicts.
func (r *results) over(ctx context.Context) (bool, error) {
	s, err := r.api.find(ctx, r.job)
	if err != nil {
		return false, err
	}
	last, err := r.api.store.LastVerdict(ctx, r.job)
	if err != nil {
		return false, err
	}
	if last > r.cursor {
		if r.stalled {
			err = r.reopen()
		}
		r.pending = true
		return false, err
	}
	r.stalled = false
	if ended(s.Record) {
		return true, errors.Join(r.encode.Encode(end{cursorOf(r.cursor), states[s.Record.GetState()]}), r.stream.Flush())
	}
	return !r.follow, nil
}

// wait sleeps until there may be something to write.
func (r *results) wait(ctx context.Context, changed <-chan struct{}) error {
	rest := time.NewTimer(glance)
	defer rest.Stop()
	select {
	case <-changed:
	case <-rest.C:
	case <-ctx.Done():
		return failure.OfContext(ctx)
	}
	return nil
}
