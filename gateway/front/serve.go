package front

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/admission"
	"triptych/gateway/web"
	"triptych/shared/call"
	"triptych/shared/failure"
)

// TimeoutHeader is the caller's own deadline, in milliseconds from when the
// headers arrived. It is cut to the front's request timeout.
const TimeoutHeader = "triptych-timeout-ms"

// maxControlBody bounds the bodies of routes that do no work.
const maxControlBody = 1 << 20

// serve makes a route's handler: what comes before the route's own, in order.
func (f *Front) serve(route web.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		err := f.run(c, route)
		if err != nil {
			f.refuse(c, err)
		}
	}
}

func (f *Front) run(c *gin.Context, route web.Route) error {
	if err := checkQuery(c.Request, route.Query); err != nil {
		return err
	}
	ctx, err := withPriority(c.Request)
	if err != nil {
		return err
	}
	if names := c.Request.Header.Values(call.TenantHeader); len(names) > 0 {
		if ctx, err = admission.WithTenant(ctx, names[0]); err != nil {
			return err
		}
	}
	patient := route.Patient || route.Upload != nil
	ctx, cancel, err := f.withDeadline(ctx, c.Request.Header, patient)
	if err != nil {
		return err
	}
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	if patient {
		// The server's own write timeout knows nothing of patience.
		_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	}
	if route.Model != nil {
		if err := f.admission.Check(ctx, route.Model(c)); err != nil {
			return err
		}
	}
	release, err := f.takeBody(c, route)
	if err != nil {
		return err
	}
	defer release()
	return failure.Guard("internal error", func() error { return route.Handle(c) })
}

// checkQuery refuses query parameters that a route does not have. One without names
// looks after its own.
func checkQuery(r *http.Request, names []string) error {
	if names == nil || r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return failure.New(failure.Invalid, "the query %s can't be read", failure.Quote(r.URL.RawQuery))
	}
	for name := range query {
		if !slices.Contains(names, name) {
			return failure.New(failure.Invalid, "unknown query parameter %s, there are %s", failure.Quote(name), cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	return nil
}

// withPriority reads the caller's priority.
func withPriority(r *http.Request) (context.Context, error) {
	ctx := r.Context()
	text := r.Header.Get(call.PriorityHeader)
	if text == "" {
		return ctx, nil
	}
	priority, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return ctx, failure.New(failure.Invalid, "the header %s must be a whole number, 0 or more", call.PriorityHeader)
	}
	info := call.Of(ctx)
	info.Priority = priority
	return call.With(ctx, info), nil
}

// withDeadline gives a request the nearer of the caller's deadline and ours.
func (f *Front) withDeadline(ctx context.Context, h http.Header, patient bool) (context.Context, context.CancelFunc, error) {
	timeout := f.cfg.RequestTimeout
	text := h.Get(TimeoutHeader)
	if text == "" && patient {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	if text != "" {
		ms, err := strconv.ParseUint(text, 10, 64)
		if err != nil || ms == 0 {
			return nil, nil, failure.New(failure.Invalid, "the header %s must be a whole number above 0", TimeoutHeader)
		}
		asked := time.Duration(min(ms, uint64(24*time.Hour/time.Millisecond))) * time.Millisecond
		if timeout > asked || patient {
			timeout = asked
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, cancel, nil
}
