package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

// requeue puts the item of a dead letter back.
func (a *API) requeue(c *gin.Context) error {
	v, err := a.dead(c)
	if err != nil {
		return err
	}
	if err := a.putBack(c.Request.Context(), v.GetJob(), v.GetItem()); err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, gin.H{"requeued": 1})
}

// requeueAll puts back the items of all dead letters that a filter picks. Letters that
// come meanwhile are left alone.
func (a *API) requeueAll(c *gin.Context) error {
	return a.forAll(c, "requeued", a.putBack)
}

// purge deletes a dead letter.
func (a *API) purge(c *gin.Context) error {
	v, err := a.dead(c)
	if err != nil {
		return err
	}
	if err := a.store.PurgeDead(c.Request.Context(), v.GetJob(), v.GetItem()); err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, gin.H{"purged": 1})
}

// purgeAll deletes all dead letters that a filter picks.
func (a *API) purgeAll(c *gin.Context) error {
	return a.forAll(c, "purged", a.store.PurgeDead)
}

// forAll does something with each letter that a filter picks, and answers with how
// many there were. What others did to a letter in between is passed over.
func (a *API) forAll(c *gin.Context, what string, do func(ctx context.Context, job string, item uint32) error) error {
	f, err := filterOf(c, true)
	if err != nil {
		return err
	}
	ctx, count := c.Request.Context(), 0
	err = a.visit(ctx, f, 0, 0, func(letter letterDocument, _ uint64) (bool, error) {
		err := do(ctx, letter.Job, letter.Item)
		switch kind := failure.KindOf(err); {
		case err == nil:
			count++
		case kind != failure.Conflict && kind != failure.NotFound:
			return false, err
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, gin.H{what: count})
}

// putBack puts a dead item back into the queue, after its job was opened again if it
// had ended.
func (a *API) putBack(ctx context.Context, job string, item uint32) error {
	if err := a.reopen(ctx, job); err != nil {
		return err
	}
	return a.store.Requeue(ctx, job, item)
}

// reopen opens a job that has ended, with a deadline that lies ahead. Its record counts
// all its verdicts, and has the sequence of the last: a mark that crossed with the end
// comes after that, and counts.
func (a *API) reopen(ctx context.Context, id string) error {
	_, err := a.store.Update(ctx, id, func(job *pb.Job) error {
		if job.GetState() == pb.State_STATE_CANCELLING {
			return failure.New(failure.Conflict, "job %q is being cancelled", id)
		}
		if !ended(job) {
			return errOpen
		}
		job.State, job.Reopened, job.EndedMs, job.Callback = pb.State_STATE_ACCEPTED, true, 0, nil
		job.DeadlineMs = max(job.GetDeadlineMs(), a.now().Add(a.deadline).UnixMilli())
		return nil
	})
	if err == errOpen { //nolint:errorlint // our own, never wrapped
		return nil
	}
	return err
}

// errOpen ends an update that has nothing to do.
var errOpen = failure.New(failure.Conflict, "it is open already")
