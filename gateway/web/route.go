// Package web is what groups of HTTP routes are made of: how a route is
// declared, how its body is read and how an answer is written. It has no routes
// and chooses no statuses for failures.
package web

import (
	"time"

	"github.com/gin-gonic/gin"
)

// Handle answers a request, or returns a failure and writes nothing: the front
// writes failures, all in one form. It must be safe for concurrent use.
type Handle func(c *gin.Context) error

// Route is one route of the HTTP front.
type Route struct {
	Method string
	// Path is gin's pattern; it is the label of the route in metrics and traces.
	Path string
	// Work marks a route that takes memory and time in proportion to its body: the
	// front admits its requests only while there is room. Other routes have small
	// bodies and are always answered.
	Work bool
	// Model, when set, names the model that a request is for without reading its body:
	// the front then refuses at once what the model has no time for. An empty name is
	// for no model.
	Model func(c *gin.Context) string
	// Query, when it is not nil, names the query parameters that there are: a request with
	// another one is refused, for what its caller meant would be ignored.
	Query []string
	// Patient marks a route that may take longer than the front's request
	// timeout; only a deadline that the caller asked for counts.
	Patient bool
	// Upload, when set, bounds the body of the route instead of what the front's
	// settings say. Its handler reads the body as it comes, and itself sees to the
	// memory that this takes. The route is Patient too.
	Upload *Upload
	Handle Handle
}

// Upload is how large a body may be, also after it was decompressed, and how long
// it may take to come. How fast it must come at the least is as for all others.
type Upload struct {
	MaxBytes int64
	Timeout  time.Duration
}

// Milliseconds is a duration as answers and logs show it.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
