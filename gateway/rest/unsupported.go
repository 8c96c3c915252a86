package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/shared/failure"
)

// unsupported are Triton's routes that this server does not have. They say so,
// rather than that there is nothing.
func unsupported() []web.Route {
	var routes []web.Route
	refuse := func(feature, method string, paths ...string) {
		for _, path := range paths {
			routes = append(routes, web.Route{Method: method, Path: path, Handle: func(*gin.Context) error {
				return failure.New(failure.Unsupported, "%s is not supported by this server", feature)
			}})
		}
	}
	refuse("generate", http.MethodPost, "/v2/models/:model/generate", "/v2/models/:model/generate_stream",
		"/v2/models/:model/versions/:version/generate", "/v2/models/:model/versions/:version/generate_stream")
	refuse("naming a repository", http.MethodPost, "/v2/repository/:repository/index",
		"/v2/repository/:repository/models/:model/load", "/v2/repository/:repository/models/:model/unload")
	for _, kind := range []string{"system", "cuda"} {
		base := "/v2/" + kind + "sharedmemory"
		refuse("shared memory", http.MethodGet, base+"/status", base+"/region/:region/status")
		refuse("shared memory", http.MethodPost, base+"/region/:region/register", base+"/region/:region/unregister", base+"/unregister")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		refuse("the trace setting", method, "/v2/trace/setting", "/v2/models/:model/trace/setting", "/v2/models/:model/versions/:version/trace/setting")
		refuse("the log setting", method, "/v2/logging")
	}
	return routes
}
