// Package jobs is the gateway's side of jobs: it joins what takes them in, what
// follows them, what feeds them to the services, and the routes by which users see
// them. The work itself is done elsewhere.
package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/jobs/api"
	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/feed"
	"triptych/gateway/jobs/gauges"
	"triptych/gateway/jobs/intake"
	"triptych/gateway/jobs/webhook"
	"triptych/gateway/rest"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/app"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

// Jobs is all of it. Safe for concurrent use.
type Jobs struct {
	store *jobs.Store // nil: there are no jobs
	board *board.Board
	api   *api.API
	parts []app.Part

	running sync.WaitGroup
	stop    context.CancelFunc // of what runs
	ending  context.Context    //nolint:containedctx // it is the life of the component
	end     context.CancelFunc // of answers that follow a job
}

// New joins the parts over a job store, which may be nil: then every route says so.
// Models are those of server. The settings have been validated.
func New(cfg Config, store *jobs.Store, server inference.GRPCInferenceServiceServer, tel *telemetry.Telemetry) (*Jobs, error) {
	j := &Jobs{store: store}
	j.ending, j.end = context.WithCancel(context.Background())
	if store == nil {
		j.api = api.New(j.ending, cfg.Intake, nil, nil, nil, unsupported)
		return j, nil
	}
	j.board = board.New(store, tel.Logger)
	callbacks, err := webhook.New(cfg.Webhook, tel)
	if err != nil {
		return nil, err
	}
	in := intake.New(cfg.Intake, store, j.board, server, callbacks, tel)
	j.api = api.New(j.ending, cfg.Intake, store, j.board, in, j.Ready)
	figures, err := gauges.New(store, j.board, tel)
	if err != nil {
		return nil, err
	}
	cfg.Feed.Callback = webhook.Jobs{Caller: callbacks, Document: api.Document}
	// What is still coming in has no record, and must not be taken for lost property.
	cfg.Feed.Orphans = max(cfg.Feed.Orphans, cfg.Intake.Timeout+orphansGrace)
	feeder := feed.New(cfg.Feed, store, j.board, tel)
	j.parts = []app.Part{{Name: "jobs", Start: j.start, Stop: j.halt}, feeder.Part(), figures.Part()}
	return j, nil
}

// orphansGrace is how much longer than its upload a job may take to be accepted.
const orphansGrace = 15 * time.Minute

func unsupported() error {
	return failure.New(failure.Unsupported, "jobs are not enabled here: the gateway was started without --nats-url")
}

// Ready says why no job can be taken or told of now: Unsupported without a store, and
// Unavailable while it is away. The synchronous road does not care.
func (j *Jobs) Ready() error {
	if j.store == nil {
		return unsupported()
	}
	if err := j.store.Connection().Ready(); err != nil {
		return err
	}
	return j.board.Ready()
}

// Routes are those of jobs and of dead letters.
func (j *Jobs) Routes() []web.Route {
	routes := j.api.Routes()
	if j.store != nil {
		return routes
	}
	for i := range routes {
		routes[i].Upload = nil // nobody is to send a job for nothing
		routes[i].Handle = func(*gin.Context) error { return unsupported() }
	}
	return routes
}

// Background takes requests that need not be answered at once; nil when there are no
// jobs.
func (j *Jobs) Background() rest.Background {
	if j.store == nil {
		return nil
	}
	return j.api
}

// Parts are what runs, in the order of their start: what follows the jobs, what feeds
// and counts them, and, as a door, the answers that follow a job.
func (j *Jobs) Parts() []app.Part {
	answers := app.Part{Name: "job answers", Door: true, Stop: func(context.Context) error {
		j.end()
		return nil
	}}
	return append(slices.Clone(j.parts), answers)
}

func (j *Jobs) start(ctx context.Context) error {
	ctx, j.stop = context.WithCancel(context.WithoutCancel(ctx))
	j.running.Go(func() { j.board.Run(ctx) })
	return nil
}

func (j *Jobs) halt(context.Context) error {
	j.end()
	j.stop()
	j.running.Wait()
	return nil
}
