package rest

import (
	"strings"

	"github.com/gin-gonic/gin"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Background runs requests that need not be answered at once.
type Background interface {
	// Accept stores a request and answers c with where its result will be.
	Accept(c *gin.Context, req *inference.ModelInferRequest) error
}

const (
	preferHeader  = "Prefer"
	appliedHeader = "Preference-Applied"
	respondAsync  = "respond-async"
)

// prefersAsync tells whether the caller would rather not wait, as RFC 7240 has it.
func prefersAsync(values []string) bool {
	for _, value := range values {
		for preference := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(name), respondAsync) {
				return true
			}
		}
	}
	return false
}

// awaited is the model of a request whose caller waits for the answer.
func (a *API) awaited(c *gin.Context) string {
	if a.background != nil && prefersAsync(c.Request.Header.Values(preferHeader)) {
		return ""
	}
	return c.Param("model")
}

// later hands a request over.
func (a *API) later(c *gin.Context, req *request) error {
	for name, f := range req.forms {
		if f.classes > 0 {
			return failure.New(failure.Unsupported, "output %s: classification is not supported with %q", failure.Quote(name), respondAsync)
		}
	}
	c.Header(appliedHeader, respondAsync)
	if err := a.background.Accept(c, req.message); err != nil {
		c.Writer.Header().Del(appliedHeader)
		return err
	}
	return nil
}
