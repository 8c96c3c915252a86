package front

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/shared/call"
	"triptych/shared/failure"
)

const (
	// drainTime is how long the rest of a refused body is read and thrown away, so
	// that a caller who writes all before it reads gets to read the answer.
	drainTime = 3 * time.Second
	// drainFrom is the length up to which net/http does that itself, on a connection
	// that the caller wants to keep.
	drainFrom = 256 << 10
)

// problem is the body of every failed answer.
type problem struct {
	Error     string `json:"error"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
}

// refuse writes a failure. It is the only place where one is written.
func (f *Front) refuse(c *gin.Context, err error) {
	exchangeOf(c).err = err
	if c.Writer.Written() {
		return // too late: the answer was cut, its length tells the caller
	}
	h := c.Writer.Header()
	h.Del("Content-Encoding")
	h.Del("Content-Length")
	if after := failure.RetryAfter(err); after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	unread := f.beforeRefusal(c)
	kind := failure.KindOf(err)
	_ = web.JSON(c, kind.HTTPStatus(), problem{failure.Message(err), kind.String(), call.Of(c.Request.Context()).RequestID})
	if unread {
		c.Writer.Flush()
		_, _ = io.Copy(io.Discard, exchangeOf(c).body)
	}
}

// beforeRefusal prepares for a body that nobody has read to its end, and tells
// whether it should be drained after the answer.
func (f *Front) beforeRefusal(c *gin.Context) bool {
	r, e := c.Request, exchangeOf(c)
	b, guarded := r.Body.(*body)
	if e.length == 0 || guarded && b.ended {
		return false
	}
	if guarded && b.failed {
		c.Header("Connection", "close")
		return false
	}
	control := http.NewResponseController(c.Writer)
	if control.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return false // a recorder, not a connection
	}
	if e.length > 0 && e.length <= drainFrom && !r.Close {
		return false
	}
	c.Header("Connection", "close")
	if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return false // the caller waits for leave to send, and now won't get it
	}
	// Without this the server would read on before it sends the answer.
	return control.EnableFullDuplex() == nil
}

func (f *Front) noRoute(c *gin.Context) {
	f.refuse(c, failure.New(failure.NotFound, "there is nothing at this path"))
}

func (f *Front) noMethod(c *gin.Context) {
	f.refuse(c, failure.New(failure.WrongMethod, "this path does not have the method, it has %s", c.Writer.Header().Get("Allow")))
}
