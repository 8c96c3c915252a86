// Package api is the HTTP routes of jobs and of dead letters. It reads requests,
// writes answers, and streams results; what a job is, is decided elsewhere.
package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"triptych/gateway/jobs/board"
	"triptych/gateway/jobs/intake"
	"triptych/gateway/rest"
	"triptych/gateway/web"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/jobs"
)

// API is the routes. Safe for concurrent use.
type API struct {
	store  *jobs.Store
	board  *board.Board
	intake *intake.Intake
	upload web.Upload
	// deadline is what an item that is put back gets anew.
	deadline time.Duration
	ready    func() error
	// ending ends the answers that follow a job.
	ending context.Context //nolint:containedctx // it is the life of the component
	now    func() time.Time
}

var _ rest.Background = (*API)(nil)

// New makes the routes over jobs. Ready says why nothing can be done now, and ending
// ends the answers that would otherwise go on for as long as a job does.
func New(ending context.Context, cfg intake.Config, store *jobs.Store, known *board.Board, in *intake.Intake, ready func() error) *API {
	return &API{
		store: store, board: known, intake: in, upload: web.Upload{MaxBytes: cfg.MaxBytes, Timeout: cfg.Timeout}, deadline: cfg.Deadline,
		ready: ready, ending: ending, now: time.Now,
	}
}

// Routes lists all routes.
func (a *API) Routes() []web.Route {
	none, chosen := []string{}, []string{"job", "model", "all"}
	routes := []web.Route{
		{Method: http.MethodPost, Path: "/v1/jobs", Upload: &a.upload, Handle: a.create},
		{Method: http.MethodGet, Path: "/v1/jobs", Query: []string{"state", "model", "name", "limit", "cursor"}, Handle: a.list},
		{Method: http.MethodGet, Path: "/v1/jobs/:id", Query: none, Handle: a.status},
		{Method: http.MethodDelete, Path: "/v1/jobs/:id", Query: none, Handle: a.cancel},
		{Method: http.MethodGet, Path: "/v1/jobs/:id/results", Query: []string{"cursor", "follow", "outcome"}, Patient: true, Handle: a.results},
		{Method: http.MethodGet, Path: "/v1/jobs/:id/events", Query: none, Patient: true, Handle: a.events},
		{Method: http.MethodGet, Path: "/v1/dead-letters", Query: []string{"job", "model", "limit", "cursor"}, Handle: a.letters},
		{Method: http.MethodDelete, Path: "/v1/dead-letters", Query: chosen, Patient: true, Handle: a.purgeAll},
		{Method: http.MethodPost, Path: "/v1/dead-letters/requeue", Query: chosen, Patient: true, Handle: a.requeueAll},
		{Method: http.MethodGet, Path: "/v1/dead-letters/:job/:item", Query: none, Handle: a.letter},
		{Method: http.MethodDelete, Path: "/v1/dead-letters/:job/:item", Query: none, Handle: a.purge},
		{Method: http.MethodPost, Path: "/v1/dead-letters/:job/:item/requeue", Query: none, Handle: a.requeue},
	}
	for i, r := range routes {
		routes[i].Handle = func(c *gin.Context) error {
			if err := a.ready(); err != nil {
				return err
			}
			for _, p := range c.Params {
				if err := checkID(p.Value); p.Key != "item" && err != nil {
					return err
				}
			}
			return r.Handle(c)
		}
	}
	return routes
}

// checkID refuses what is no id of a job by its form, so that the store is not asked.
func checkID(id string) error {
	if len(id) != idBytes || uuid.Validate(id) != nil {
		return failure.New(failure.NotFound, "unknown job %s", failure.Quote(id))
	}
	return nil
}

// idBytes is how long a job's id is.
const idBytes = 36

// keyHeader makes a request that is sent twice count once.
const keyHeader = "Idempotency-Key"

// create takes a job.
func (a *API) create(c *gin.Context) error {
	r := c.Request
	job, err := a.intake.Accept(r.Context(), a.ask(c), r.Body)
	if err != nil {
		return err
	}
	return a.accepted(c, job)
}

// Accept implements rest.Background.
func (a *API) Accept(c *gin.Context, req *inference.ModelInferRequest) error {
	if err := a.ready(); err != nil {
		return err
	}
	ask := a.ask(c)
	ask.Settings = nil
	job, err := a.intake.AcceptRequest(c.Request.Context(), ask, req)
	if err != nil {
		return err
	}
	return a.accepted(c, job)
}

func (a *API) ask(c *gin.Context) intake.Ask {
	r := c.Request
	return intake.Ask{
		ContentType: r.Header.Get("Content-Type"), Settings: r.URL.Query(), Key: r.Header.Get(keyHeader), Priority: call.Of(r.Context()).Priority,
	}
}

// accepted answers with a job that is stored.
func (a *API) accepted(c *gin.Context, job *pb.Job) error {
	c.Header("Location", "/v1/jobs/"+job.GetId())
	s, err := a.board.Job(job.GetId())
	if err != nil { // the board has not heard of it yet
		s = &board.Snapshot{Record: job, Counts: job.GetCounts(), Sequence: job.GetVerdictsAfter()}
	}
	return web.JSON(c, http.StatusAccepted, documentOf(s, a.now()))
}

// find is a job as it is now: what the board knows of it, or its record when the
// board has not heard of it yet.
func (a *API) find(ctx context.Context, id string) (*board.Snapshot, error) {
	s, err := a.board.Job(id)
	if failure.KindOf(err) != failure.NotFound || err == nil {
		return s, err
	}
	job, err := a.store.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	return &board.Snapshot{Record: job, Counts: job.GetCounts(), Sequence: job.GetVerdictsAfter()}, nil
}

func (a *API) status(c *gin.Context) error {
	s, err := a.find(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, documentOf(s, a.now()))
}

// cancel asks for the end of a job. One that has ended by itself is Conflict.
func (a *API) cancel(c *gin.Context) error {
	status := http.StatusAccepted
	job, err := a.store.Update(c.Request.Context(), c.Param("id"), func(job *pb.Job) error {
		switch job.GetState() {
		case pb.State_STATE_ACCEPTED:
			status = http.StatusAccepted
			job.State = pb.State_STATE_CANCELLING
			return nil
		case pb.State_STATE_DONE:
			return failure.New(failure.Conflict, "job %q has ended", job.GetId())
		default:
			status = http.StatusOK
			return errCancelled
		}
	})
	if err != nil && err != errCancelled { //nolint:errorlint // our own, never wrapped
		return err
	}
	s, err := a.find(c.Request.Context(), job.GetId())
	if err != nil {
		return err
	}
	s.Record = job
	return web.JSON(c, status, documentOf(s, a.now()))
}

// errCancelled ends an update that has nothing to do.
var errCancelled = failure.New(failure.Conflict, "it is cancelled already")
