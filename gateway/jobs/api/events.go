package api

import (
	"encoding/json"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/jobs/board"
	"triptych/gateway/web"
	"triptych/shared/failure"
)

const (
	// progressEvery is the least time between two events of a job's progress.
	progressEvery = 250 * time.Millisecond
	// heartbeat is the pause after which a word that means nothing keeps a quiet
	// connection open.
	heartbeat = 15 * time.Second
)

// events tells of a job's progress as server-sent events, until it has ended.
func (a *API) events(c *gin.Context) error {
	ctx := c.Request.Context()
	changed, unwatch := a.board.Watch(c.Param("id"))
	defer unwatch()
	s, err := a.find(ctx, c.Param("id"))
	if err != nil {
		return err
	}
	out, err := web.NewStream(c, "text/event-stream")
	if err != nil {
		return err
	}
	known := c.GetHeader("Last-Event-ID")
	if ended(s.Record) || cursorOf(s.Sequence) != known {
		if err := a.event(out, s); err != nil {
			return err
		}
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for !ended(s.Record) {
		beat.Reset(heartbeat)
		select {
		case <-ctx.Done():
			return failure.OfContext(ctx)
		case <-a.ending.Done():
			return nil
		case <-beat.C:
			if err := comment(out); err != nil {
				return err
			}
			continue
		case <-changed:
		}
		if s, err = a.find(ctx, c.Param("id")); err != nil {
			return err // it is gone, or nobody can say
		}
		if err := a.event(out, s); err != nil {
			return err
		}
		if !ended(s.Record) {
			pause(ctx.Done(), a.ending.Done())
		}
	}
	return nil
}

// pause keeps events apart, whatever happens meanwhile.
func pause(gone, ending <-chan struct{}) {
	timer := time.NewTimer(progressEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-gone:
	case <-ending:
	}
}

func (a *API) event(out *web.Stream, s *board.Snapshot) error {
	name := "progress"
	if ended(s.Record) {
		name = "end"
	}
	data, err := json.Marshal(documentOf(s, a.now()))
	if err != nil {
		return failure.Wrap(err, failure.Internal, "the state of a job can't be written")
	}
	text := "event: " + name + "\nid: " + cursorOf(s.Sequence) + "\ndata: " + string(data) + "\n\n"
	if _, err := out.Write([]byte(text)); err != nil {
		return err
	}
	return out.Flush()
}

func comment(out *web.Stream) error {
	if _, err := out.Write([]byte(": still here\n\n")); err != nil {
		return err
	}
	return out.Flush()
}
