package web

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// patience is how long a client may take to read what a stream has written.
const patience = 30 * time.Second

// Stream is an answer that is written as it comes to be, however long that takes.
// A client that does not read for a while is cut off. It is not safe for concurrent
// use.
type Stream struct {
	writer  gin.ResponseWriter
	control *http.ResponseController
}

// NewStream begins an answer of status 200. From then on failures can't be told any
// more: the answer has to say by its form whether it is complete.
func NewStream(c *gin.Context, contentType string) (*Stream, error) {
	h := c.Writer.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Accel-Buffering", "no") // else nginx would wait for the end
	s := &Stream{writer: c.Writer, control: http.NewResponseController(c.Writer)}
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return s, s.Flush()
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	s.wait()
	return s.writer.Write(p)
}

// Flush sends what was written.
func (s *Stream) Flush() error {
	s.wait()
	return s.control.Flush()
}

// wait gives the client time from now on. A writer without deadlines is a test's
// recorder.
func (s *Stream) wait() { _ = s.control.SetWriteDeadline(time.Now().Add(patience)) }
