// Package client speaks to a gateway over HTTP for the command line.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"triptych/shared/failure"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// Client calls one gateway. Safe for concurrent use.
type Client struct {
	base string
	http *http.Client
	// stream is for what may take as long as it takes: bodies that are sent, and
	// answers that are read as they come.
	stream *http.Client
	// silence is how long either side of such a body may stand still.
	silence time.Duration
}

// New makes a client of the gateway at a base URL.
func New(base string, timeout time.Duration) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, failure.New(failure.Invalid, "--server %q is not a URL such as http://127.0.0.1:8000", base)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 8, ExpectContinueTimeout: time.Second}
	return &Client{
		base:    strings.TrimRight(base, "/"),
		http:    &http.Client{Timeout: timeout, Transport: transport},
		stream:  &http.Client{Transport: transport},
		silence: timeout,
	}, nil
}

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Prediction is one label.
type Prediction struct {
	Label string  `json:"label"`
	Score float64 `json:"score"`
	Class int     `json:"class"`
}

// Answer is what POST /v1/classify says of one image.
type Answer struct {
	Model struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"model"`
	Results []struct {
		Predictions []Prediction `json:"predictions"`
	} `json:"results"`
	RequestID string             `json:"request_id"`
	TraceID   string             `json:"trace_id"`
	Timings   map[string]float64 `json:"timings_ms"`
}

// Classify sends one image. Top is how many labels are wanted; 0 is the model's
// default.
func (c *Client) Classify(ctx context.Context, model string, top int, image []byte) (Answer, error) {
	query := url.Values{"model": {model}}
	if top > 0 {
		query.Set("top_k", strconv.Itoa(top))
	}
	var answer Answer
	if err := c.post(ctx, "/v1/classify?"+query.Encode(), "application/octet-stream", image, &answer); err != nil {
		return Answer{}, err
	}
	if len(answer.Results) != 1 {
		return Answer{}, failure.New(failure.Internal, "the answer of %s is not what a gateway says", c.base)
	}
	return answer, nil
}

// Model is one row of the repository index.
type Model struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// Models lists the models of all services.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var models []Model
	err := c.post(ctx, "/v2/repository/index", "application/json", []byte("{}"), &models)
	return models, err
}

func (c *Client) post(ctx context.Context, path, contentType string, body []byte, answer any) error {
	data, _, err := c.call(ctx, http.MethodPost, path, http.Header{"Content-Type": {contentType}}, body, maxAnswer)
	if err != nil {
		return err
	}
	return c.read(data, answer)
}

func (c *Client) read(data []byte, answer any) error {
	if err := json.Unmarshal(data, answer); err != nil {
		return failure.Wrap(err, failure.Internal, "the answer of %s is not what a gateway says", c.base)
	}
	return nil
}

// call sends a request and gives the body and the headers of a good answer.
func (c *Client) call(ctx context.Context, method, path string, headers http.Header, body []byte, most int64) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = headers
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, unreachable(c.base, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, nil, failure.Wrap(err, failure.Unavailable, "the answer of %s broke off", c.base)
	}
	if !good(resp) {
		return nil, nil, refused(resp, data)
	}
	return data, resp.Header, nil
}
