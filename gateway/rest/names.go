package rest

import (
	"strings"

	"github.com/gin-gonic/gin"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// maxName bounds a model's name: it is that of a directory.
const maxName = 255

// target is the model and the version of a route, a number or a label. An empty version is the
// newest that is ready.
func target(c *gin.Context) (model, version string, err error) {
	model = c.Param("model")
	if !validModel(model) {
		return "", "", failure.New(failure.NotFound, "unknown model %s", failure.Quote(model))
	}
	for _, p := range c.Params {
		if p.Key != "version" {
			continue
		}
		if _, ok := modelconfig.ParseVersion(p.Value); !ok && !modelconfig.IsLabel(p.Value) {
			return "", "", failure.New(failure.Invalid, "version %s of model %q is not a whole number above 0", failure.Quote(p.Value), model)
		}
	}
	return model, c.Param("version"), nil
}

// validModel tells whether a directory could have the name. No other name can
// be a model's, so nobody needs to be asked for it.
func validModel(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxName {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || r < ' ' || r == 0x7f })
}
