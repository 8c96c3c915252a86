package rest

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"triptych/gateway/rest/jsonlex"
	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// filePrefix begins the name of a load parameter that holds a file of the model,
// in base64.
const filePrefix = "file:"

type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func (a *API) index(c *gin.Context) error {
	req := &inference.RepositoryIndexRequest{}
	err := options(c, []string{"ready"}, func(l *jsonlex.Lexer, _ int) (err error) {
		if err = l.Expect(jsonlex.Bool, `"ready"`); err == nil {
			req.Ready, err = l.Bool()
		}
		return err
	})
	if err != nil {
		return err
	}
	resp, err := a.server.RepositoryIndex(c.Request.Context(), req)
	if err != nil {
		return web.Failure(err)
	}
	entries := make([]indexEntry, 0, len(resp.GetModels()))
	for _, m := range resp.GetModels() {
		entries = append(entries, indexEntry{m.GetName(), m.GetVersion(), m.GetState(), m.GetReason()})
	}
	return web.JSON(c, http.StatusOK, entries)
}

func (a *API) load(c *gin.Context) error {
	model, params, err := control(c)
	if err != nil {
		return err
	}
	_, err = a.server.RepositoryModelLoad(c.Request.Context(), &inference.RepositoryModelLoadRequest{ModelName: model, Parameters: params})
	if err != nil {
		return web.Failure(err)
	}
	return web.JSON(c, http.StatusOK, struct{}{})
}

func (a *API) unload(c *gin.Context) error {
	model, params, err := control(c)
	if err != nil {
		return err
	}
	_, err = a.server.RepositoryModelUnload(c.Request.Context(), &inference.RepositoryModelUnloadRequest{ModelName: model, Parameters: params})
	if err != nil {
		return web.Failure(err)
	}
	return web.JSON(c, http.StatusOK, struct{}{})
}

// control reads what a load or unload is about.
func control(c *gin.Context) (string, map[string]*inference.ModelRepositoryParameter, error) {
	model, _, err := target(c)
	if err != nil {
		return "", nil, err
	}
	var params map[string]*inference.ModelRepositoryParameter
	err = options(c, []string{"parameters"}, func(l *jsonlex.Lexer, _ int) (err error) {
		params, err = repositoryParameters(l)
		return err
	})
	return model, params, err
}

// options reads a body that is a JSON object or nothing.
func options(c *gin.Context, names []string, read func(l *jsonlex.Lexer, field int) error) error {
	body, err := web.ReadBody(c.Request)
	if err != nil {
		return err
	}
	l := jsonlex.New(body)
	if l.End() == nil {
		return nil
	}
	if err := l.Expect(jsonlex.Object, "the body"); err != nil {
		return err
	}
	if err := l.Fields(names, func(field int) error { return read(l, field) }); err != nil {
		return err
	}
	return l.End()
}

func repositoryParameters(l *jsonlex.Lexer) (map[string]*inference.ModelRepositoryParameter, error) {
	params := map[string]*inference.ModelRepositoryParameter{}
	err := eachParameter(l, func(key string, kind jsonlex.Kind) (err error) {
		params[key], err = repositoryParameter(l, key, kind)
		return err
	})
	return params, err
}

func repositoryParameter(l *jsonlex.Lexer, key string, kind jsonlex.Kind) (*inference.ModelRepositoryParameter, error) {
	switch kind {
	case jsonlex.Bool:
		v, err := l.Bool()
		return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_BoolParam{BoolParam: v}}, err
	case jsonlex.Number:
		v, text, ok, err := l.Int64()
		if err == nil && !ok {
			err = failure.New(failure.Invalid, "parameter %s is %s, which is not a whole number of 64 bits", failure.Quote(key), failure.Quote(string(text)))
		}
		return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_Int64Param{Int64Param: v}}, err
	}
	text, err := l.Text()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(key, filePrefix) {
		return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_StringParam{StringParam: string(text)}}, nil
	}
	file := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(file, text)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "parameter %s is not base64", failure.Quote(key))
	}
	return &inference.ModelRepositoryParameter{ParameterChoice: &inference.ModelRepositoryParameter_BytesParam{BytesParam: file[:n]}}, nil
}
