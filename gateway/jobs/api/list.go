package api

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"triptych/gateway/jobs/board"
	"triptych/gateway/web"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// limitOf is how many entries of a list a caller wants at a time.
func limitOf(c *gin.Context) (int, error) {
	text, ok := c.GetQuery("limit")
	if !ok {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, failure.New(failure.Invalid, "limit must be a whole number from 1 to %d", maxLimit)
	}
	return n, nil
}

// maxModel bounds the name of a model that a list is asked for.
const maxModel = 256

func checkModel(c *gin.Context) error {
	if len(c.Query("model")) > maxModel {
		return failure.New(failure.Invalid, "model has more than %d bytes", maxModel)
	}
	return nil
}

type listDocument struct {
	Jobs []*document `json:"jobs"`
	Next string      `json:"next,omitempty"`
}

// list shows jobs, the newest first.
func (a *API) list(c *gin.Context) error {
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	before, err := placeOf(c.Query("cursor"))
	if err != nil {
		return err
	}
	if err := checkModel(c); err != nil {
		return err
	}
	state := c.Query("state")
	if state != "" && !slices.Contains([]string{running, cancelling, done, cancelled}, state) {
		return failure.New(failure.Invalid, "state is %s, must be running, cancelling, done or cancelled", failure.Quote(state))
	}
	if err := a.board.Ready(); err != nil {
		return err
	}
	doc := &listDocument{Jobs: []*document{}}
	var last place
	a.board.Each(func(s *board.Snapshot) bool {
		r := s.Record
		if state != "" && states[r.GetState()] != state || !wants(c, "model", r.GetModel()) || !wants(c, "name", r.GetName()) || !before.after(r) {
			return true
		}
		if len(doc.Jobs) == limit {
			doc.Next = last.String()
			return false
		}
		doc.Jobs, last = append(doc.Jobs, documentOf(s, a.now())), place{r.GetCreatedMs(), r.GetId()}
		return true
	})
	return web.JSON(c, http.StatusOK, doc)
}

// wants tells whether a filter lets a value through.
func wants(c *gin.Context, filter, value string) bool {
	want := c.Query(filter)
	return want == "" || want == value
}

// place is where a list goes on.
type place struct {
	created int64
	id      string
}

// String is the place as callers see it.
func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.created, 10) + " " + p.id))
}

func placeOf(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	created, id, ok := strings.Cut(string(text), " ")
	n, numberErr := strconv.ParseInt(created, 10, 64)
	if err != nil || !ok || numberErr != nil {
		return place{}, failure.New(failure.Invalid, "the cursor is none that a list of jobs has given")
	}
	return place{n, id}, nil
}

// after tells whether a job comes after the place; all do after none.
func (p place) after(job *pb.Job) bool {
	return p.id == "" || job.GetCreatedMs() < p.created || job.GetCreatedMs() == p.created && job.GetId() < p.id
}
