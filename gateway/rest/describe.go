package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/modelconfig"
)

type serverDescription struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

func (a *API) serverMetadata(c *gin.Context) error {
	resp, err := a.server.ServerMetadata(c.Request.Context(), &inference.ServerMetadataRequest{})
	if err != nil {
		return web.Failure(err)
	}
	return web.JSON(c, http.StatusOK, serverDescription{resp.GetName(), resp.GetVersion(), list(resp.GetExtensions())})
}

type modelDescription struct {
	Name       string              `json:"name"`
	Versions   []string            `json:"versions"`
	Platform   string              `json:"platform"`
	Inputs     []tensorDescription `json:"inputs"`
	Outputs    []tensorDescription `json:"outputs"`
	Properties map[string]string   `json:"properties,omitempty"`
}

type tensorDescription struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

func (a *API) modelMetadata(c *gin.Context) error {
	model, version, err := target(c)
	if err != nil {
		return err
	}
	resp, err := a.server.ModelMetadata(c.Request.Context(), &inference.ModelMetadataRequest{Name: model, Version: version})
	if err != nil {
		return web.Failure(err)
	}
	return web.JSON(c, http.StatusOK, modelDescription{
		Name: resp.GetName(), Versions: list(resp.GetVersions()), Platform: resp.GetPlatform(),
		Inputs: describe(resp.GetInputs()), Outputs: describe(resp.GetOutputs()), Properties: resp.GetProperties(),
	})
}

func describe(tensors []*inference.ModelMetadataResponse_TensorMetadata) []tensorDescription {
	described := make([]tensorDescription, 0, len(tensors))
	for _, t := range tensors {
		described = append(described, tensorDescription{t.GetName(), t.GetDatatype(), list(t.GetShape())})
	}
	return described
}

// list is never null in JSON, which clients iterate over unasked.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

func (a *API) config(c *gin.Context) error {
	model, version, err := target(c)
	if err != nil {
		return err
	}
	resp, err := a.server.ModelConfig(c.Request.Context(), &inference.ModelConfigRequest{Name: model, Version: version})
	if err != nil {
		return web.Failure(err)
	}
	text, err := modelconfig.MarshalJSON(resp.GetConfig())
	if err != nil {
		return err
	}
	return web.JSONText(c, http.StatusOK, text)
}
