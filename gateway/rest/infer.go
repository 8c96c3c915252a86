package rest

import (
	"context"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/oip"
)

func (a *API) infer(c *gin.Context) error {
	start := time.Now()
	model, version, err := target(c)
	if err != nil {
		return err
	}
	req, err := a.read(c, model, version)
	if err != nil {
		return err
	}
	req.message.ModelName, req.message.ModelVersion = model, version
	if a.background != nil && prefersAsync(c.Request.Header.Values(preferHeader)) {
		return a.later(c, req)
	}
	ctx := c.Request.Context()
	if req.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.timeout)
		defer cancel()
	}
	resp, err := a.server.ModelInfer(ctx, req.message)
	if err != nil {
		return web.Failure(err)
	}
	if err := a.classify(ctx, req, resp); err != nil {
		return err
	}
	answer, err := render(req, resp)
	if err != nil {
		return err
	}
	c.Header("Server-Timing", serverTiming(resp, time.Since(start)))
	return answer.write(c)
}

// read reads the body in whichever of its forms it comes.
func (a *API) read(c *gin.Context, model, version string) (*request, error) {
	length, err := headerLength(c.Request.Header)
	if err != nil {
		return nil, err
	}
	body, err := web.ReadBody(c.Request)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		return a.raw(c.Request.Context(), model, version, body)
	}
	text, binary, err := divide(body, length)
	if err != nil {
		return nil, err
	}
	return parse(text, binary)
}

// serverTiming says where the time of a request went, for browsers and curl.
func serverTiming(resp *inference.ModelInferResponse, total time.Duration) string {
	var text []byte
	for _, part := range []struct{ name, parameter string }{{"queue", modelserver.QueueParameter}, {"compute", modelserver.ComputeParameter}} {
		if us, err := oip.IntParameter(resp.GetParameters(), part.parameter, -1); err == nil && us >= 0 {
			text = fmt.Appendf(text, "%s;dur=%.3f, ", part.name, float64(us)/1000)
		}
	}
	return string(fmt.Appendf(text, "total;dur=%.3f", web.Milliseconds(total)))
}
