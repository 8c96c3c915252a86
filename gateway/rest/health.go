package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

func (a *API) live(c *gin.Context) error {
	resp, err := a.server.ServerLive(c.Request.Context(), &inference.ServerLiveRequest{})
	if err != nil {
		return web.Failure(err)
	}
	return health(c, resp.GetLive(), gin.H{"live": resp.GetLive()})
}

func (a *API) ready(c *gin.Context) error {
	resp, err := a.server.ServerReady(c.Request.Context(), &inference.ServerReadyRequest{})
	if err != nil {
		return web.Failure(err)
	}
	return health(c, resp.GetReady(), gin.H{"ready": resp.GetReady()})
}

func (a *API) modelReady(c *gin.Context) error {
	model, version, err := target(c)
	if err != nil {
		return err
	}
	resp, err := a.server.ModelReady(c.Request.Context(), &inference.ModelReadyRequest{Name: model, Version: version})
	if err != nil {
		return web.Failure(err)
	}
	return health(c, resp.GetReady(), gin.H{"name": model, "ready": resp.GetReady()})
}

// health answers a probe. The status carries the answer, for the clients that
// look at nothing else; the body is what the protocol's text asks for.
func health(c *gin.Context, good bool, body gin.H) error {
	status := http.StatusOK
	if !good {
		status = failure.Unavailable.HTTPStatus()
		c.Header("Retry-After", "1")
	}
	return web.JSON(c, status, body)
}
