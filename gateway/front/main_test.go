package front_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission"
	"triptych/gateway/internal/fake"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func server() *fake.Server {
	return &fake.Server{Models: []fake.Model{fake.Classifier("classify"), fake.Echo("echo", inference.DataType_TYPE_UINT8, -1)}}
}

// room is one of the default size.
func room(t *testing.T) *admission.Admission {
	t.Helper()
	a, err := admission.New(admission.DefaultConfig(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// body is an infer request for the echo, of so many bytes or a few more.
func body(size int) []byte {
	data := []byte(`{"inputs":[{"name":"IN","datatype":"UINT8","shape":[1],"data":[7]}],"pad":"`)
	for len(data) < size-2 {
		data = append(data, 'x')
	}
	return append(data, `"}`...)
}

const infer = "/v2/models/echo/infer"

// gate is a route that does work and waits until it is let go.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
	ended   chan error
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 100), open: make(chan struct{}), ended: make(chan error, 100)}
}

func (g *gate) routes() []web.Route {
	return []web.Route{{Method: http.MethodPost, Path: "/gate", Work: true, Handle: func(c *gin.Context) error {
		if _, err := web.ReadBody(c.Request); err != nil {
			return err
		}
		g.arrived <- struct{}{}
		ctx := c.Request.Context()
		select {
		case <-g.open:
		case <-ctx.Done():
		}
		g.ended <- context.Cause(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return web.JSON(c, http.StatusOK, gin.H{"open": true})
	}}}
}
