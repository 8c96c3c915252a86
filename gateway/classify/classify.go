// Package classify answers POST /v1/classify: an image, or a form of images, in;
// labels and scores out. Each image is one request to a model that takes image
// bytes and gives LABEL, SCORE and CLASS. It decodes nothing itself.
package classify

import (
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

const (
	defaultModel = "classify"
	defaultTopK  = 5
	maxTopK      = 1000
)

// API is the route. Safe for concurrent use.
type API struct {
	cfg    Config
	server inference.GRPCInferenceServiceServer
	models *models
}

// New makes the route that asks server. The settings have been validated.
func New(cfg Config, server inference.GRPCInferenceServiceServer) *API {
	return &API{cfg: cfg, server: server, models: newModels(server)}
}

// Routes is the one route.
func (a *API) Routes() []web.Route {
	return []web.Route{{Method: http.MethodPost, Path: "/v1/classify", Query: []string{"model", "top_k"}, Work: true, Model: modelName, Handle: a.classify}}
}

func (a *API) classify(c *gin.Context) error {
	start := time.Now()
	q, err := a.query(c)
	if err != nil {
		return err
	}
	media, params, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	var results []*result
	if err == nil && media == "multipart/form-data" {
		results, err = a.form(c.Request, params["boundary"], q)
	} else {
		results, err = a.body(c.Request, q)
	}
	if err != nil {
		return err
	}
	if err := verdict(results); err != nil {
		return err
	}
	doc := newDocument(c.Request.Context(), q.model.name, results, time.Since(start))
	c.Header("Server-Timing", doc.Timings.header())
	return web.JSON(c, http.StatusOK, doc)
}

// query is what the caller asks for, apart from the images.
type query struct {
	model *model
	topK  int64
}

func (a *API) query(c *gin.Context) (query, error) {
	q := query{topK: defaultTopK}
	if text, ok := c.GetQuery("top_k"); ok {
		k, err := strconv.ParseInt(text, 10, 64)
		if err != nil || k < 1 || k > maxTopK {
			return q, failure.New(failure.Invalid, "top_k must be a whole number from 1 to %d", maxTopK)
		}
		q.topK = k
	}
	var err error
	q.model, err = a.models.get(c.Request.Context(), modelName(c))
	return q, err
}

func modelName(c *gin.Context) string { return c.DefaultQuery("model", defaultModel) }

// body classifies the one image that is the body.
func (a *API) body(r *http.Request, q query) ([]*result, error) {
	element, err := readImage(r.Body, r.ContentLength, a.cfg.MaxImage)
	if err != nil {
		return nil, err
	}
	return []*result{a.image(r.Context(), q, "", element)}, nil
}

// verdict is the failure of the whole request: that of its one image, or one
// that has nothing to do with the images and that all of them met.
func verdict(results []*result) error {
	if len(results) == 1 {
		return results[0].err
	}
	for _, r := range results {
		if r.err == nil || ofImage(failure.KindOf(r.err)) {
			return nil
		}
	}
	return results[0].err
}

// ofImage tells whether a failure is that of one image.
func ofImage(kind failure.Kind) bool {
	switch kind {
	case failure.Invalid, failure.TooLarge, failure.UnsupportedMedia, failure.BrokenImage:
		return true
	default:
		return false
	}
}
