// Package rest speaks the Open Inference Protocol v2 over HTTP, with the
// extensions that Triton's clients use: binary tensors, raw bodies,
// classification, configuration, statistics and repository control. It turns
// HTTP into the protocol's messages and back; what they mean is the server's.
package rest

import (
	"net/http"

	"triptych/gateway/web"
	"triptych/proto/inference"
)

// API is the routes under /v2. Safe for concurrent use.
type API struct {
	server     inference.GRPCInferenceServiceServer
	background Background
}

// New makes the routes that ask server. Background may be nil.
func New(server inference.GRPCInferenceServiceServer, background Background) *API {
	return &API{server: server, background: background}
}

// Routes lists all routes under /v2.
func (a *API) Routes() []web.Route {
	routes := []web.Route{
		{Method: http.MethodGet, Path: "/v2", Handle: a.serverMetadata},
		{Method: http.MethodGet, Path: "/v2/health/live", Handle: a.live},
		{Method: http.MethodGet, Path: "/v2/health/ready", Handle: a.ready},
		{Method: http.MethodGet, Path: "/v2/models/stats", Handle: a.statistics},
		{Method: http.MethodPost, Path: "/v2/repository/index", Handle: a.index},
		{Method: http.MethodPost, Path: "/v2/repository/models/:model/load", Work: true, Patient: true, Handle: a.load},
		{Method: http.MethodPost, Path: "/v2/repository/models/:model/unload", Patient: true, Handle: a.unload},
	}
	for _, model := range []string{"/v2/models/:model", "/v2/models/:model/versions/:version"} {
		routes = append(routes,
			web.Route{Method: http.MethodGet, Path: model, Handle: a.modelMetadata},
			web.Route{Method: http.MethodGet, Path: model + "/ready", Handle: a.modelReady},
			web.Route{Method: http.MethodGet, Path: model + "/config", Handle: a.config},
			web.Route{Method: http.MethodGet, Path: model + "/stats", Handle: a.statistics},
			web.Route{Method: http.MethodPost, Path: model + "/infer", Work: true, Model: a.awaited, Handle: a.infer},
		)
	}
	return append(routes, unsupported()...)
}
