package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"triptych/gateway/web"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// letterDocument is a dead letter as users see it.
type letterDocument struct {
	Job      string         `json:"job"`
	Item     uint32         `json:"item"`
	Name     string         `json:"name"`
	Model    string         `json:"model"`
	Step     string         `json:"step"`
	Reason   *errorDocument `json:"reason"`
	Attempts uint32         `json:"attempts"`
	TraceID  string         `json:"trace_id"`
	Time     string         `json:"time"`
}

type lettersDocument struct {
	Letters []letterDocument `json:"dead_letters"`
	Next    string           `json:"next,omitempty"`
}

func (a *API) letterOf(v *pb.Verdict) letterDocument {
	doc := letterDocument{
		Job: v.GetJob(), Item: v.GetItem(), Name: v.GetName(), Step: v.GetStep(), Reason: errorOf(v.GetError()),
		Attempts: v.GetAttempts(), TraceID: v.GetTraceId(), Time: instant(v.GetAtMs()),
	}
	if s, err := a.board.Job(v.GetJob()); err == nil {
		doc.Model = s.Record.GetModel()
	}
	return doc
}

// filter picks dead letters.
type filter struct {
	job, model string
}

// filterOf reads a filter. One that picks all must say so where much depends on it.
func filterOf(c *gin.Context, careful bool) (filter, error) {
	f := filter{c.Query("job"), c.Query("model")}
	if f.job != "" {
		if err := checkID(f.job); err != nil {
			return f, err
		}
	}
	if err := checkModel(c); err != nil {
		return f, err
	}
	if careful && f == (filter{}) && c.Query("all") != "true" {
		return f, failure.New(failure.Invalid, "name the job or the model whose dead letters are meant, or say all=true")
	}
	return f, nil
}

func (f filter) subject() string {
	if f.job == "" {
		return stream.DeadSubject("*", "*")
	}
	return stream.DeadSubject(f.job, "*")
}

// takes tells whether a letter is meant: by the model of its job, or that of the step
// where it failed.
func (f filter) takes(doc *letterDocument) bool {
	return f.model == "" || f.model == doc.Model || f.model == doc.Step
}

// visit calls each with the letters after a sequence, up to another, one by one, until
// it returns false.
func (a *API) visit(ctx context.Context, f filter, after, last uint64, each func(letter letterDocument, sequence uint64) (bool, error)) error {
	dead, err := a.store.Connection().JetStream().Stream(ctx, stream.Dead)
	if err != nil {
		return stream.Failure(err)
	}
	if last == 0 {
		last = dead.CachedInfo().State.LastSeq
	}
	for after < last {
		msg, err := dead.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(f.subject()))
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && msg.Sequence > last {
			return nil
		}
		if err != nil {
			return stream.Failure(err)
		}
		after = msg.Sequence
		v := &pb.Verdict{}
		if err := proto.Unmarshal(msg.Data, v); err != nil {
			return failure.Wrap(err, failure.Internal, "a dead letter can't be read")
		}
		doc := a.letterOf(v)
		if !f.takes(&doc) {
			continue
		}
		if more, err := each(doc, after); !more || err != nil {
			return err
		}
	}
	return nil
}

// letters lists dead letters, the oldest first.
func (a *API) letters(c *gin.Context) error {
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	f, err := filterOf(c, false)
	if err != nil {
		return err
	}
	var after uint64
	if text := c.Query("cursor"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return failure.New(failure.Invalid, "the cursor is none that a list of dead letters has given")
		}
	}
	doc := &lettersDocument{Letters: []letterDocument{}}
	var last uint64
	err = a.visit(c.Request.Context(), f, after, 0, func(letter letterDocument, sequence uint64) (bool, error) {
		if len(doc.Letters) == limit {
			doc.Next = cursorOf(last)
			return false, nil
		}
		doc.Letters, last = append(doc.Letters, letter), sequence
		return true, nil
	})
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, doc)
}

// itemOf is the job and the item of a route.
func itemOf(c *gin.Context) (job string, item uint32, err error) {
	job = c.Param("job")
	n, err := strconv.ParseUint(c.Param("item"), 10, 32)
	if err != nil {
		return "", 0, failure.New(failure.NotFound, "there is no dead letter of item %s of job %s", failure.Quote(c.Param("item")), failure.Quote(job))
	}
	return job, uint32(n), nil
}

// dead reads the letter of a route.
func (a *API) dead(c *gin.Context) (*pb.Verdict, error) {
	job, item, err := itemOf(c)
	if err != nil {
		return nil, err
	}
	v, err := a.store.Dead(c.Request.Context(), job, item)
	if failure.KindOf(err) == failure.NotFound {
		return nil, failure.New(failure.NotFound, "there is no dead letter of item %d of job %s", item, failure.Quote(job))
	}
	return v, err
}

func (a *API) letter(c *gin.Context) error {
	v, err := a.dead(c)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, a.letterOf(v))
}
