package target

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"triptych/loadtest/measure"
)

// maxAnswer bounds the body of an answer.
const maxAnswer = 64 << 20

// client posts prepared bodies to one URL. It follows no redirects and uses no
// proxy: both would measure something else.
type client struct {
	transport *http.Transport
	template  *http.Request
	buffers   sync.Pool // of *bytes.Buffer
}

func newClient(u *url.URL, header http.Header, inFlight int) *client {
	return &client{
		transport: &http.Transport{
			DisableCompression:  true,
			MaxIdleConnsPerHost: inFlight,
			IdleConnTimeout:     time.Minute,
			WriteBufferSize:     64 << 10,
		},
		template: &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: header},
		buffers:  sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// Close ends the idle connections.
func (c *client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// post sends a body, with a header for it alone if there is one, and gives a
// good answer to read, which must not keep the bytes.
func (c *client) post(ctx context.Context, header http.Header, body []byte, read func(http.Header, []byte) ([]string, error)) (measure.Answer, error) {
	req := c.template.WithContext(ctx)
	if header != nil {
		req.Header = header
	}
	req.ContentLength = int64(len(body))
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return measure.Answer{}, connectionFault(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or the connection is lost anyway
	buffer := c.buffers.Get().(*bytes.Buffer)
	defer c.buffers.Put(buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return measure.Answer{}, &measure.Fault{Kind: measure.Connection, Message: "read answer: " + err.Error()}
	}
	if resp.StatusCode != http.StatusOK {
		return measure.Answer{}, httpFault(resp.StatusCode, buffer.Bytes())
	}
	labels, err := read(resp.Header, buffer.Bytes())
	if err != nil {
		return measure.Answer{}, err
	}
	return measure.Answer{Labels: labels, Sent: len(body), Received: buffer.Len()}, nil
}

// errorBody is ours, and Triton's without the code.
type errorBody struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

func httpFault(status int, body []byte) *measure.Fault {
	kind := "HTTP " + strconv.Itoa(status)
	var e errorBody
	if err := json.Unmarshal(body, &e); err != nil || e.Error == "" {
		return &measure.Fault{Kind: kind, Message: string(body[:min(len(body), 1000)]), Permanent: permanentStatus(status)}
	}
	return &measure.Fault{Kind: strings.TrimSpace(kind + " " + shorten(e.Code)), Message: e.Error, Permanent: permanentStatus(status)}
}

// shorten cuts a name that a server has chosen.
func shorten(name string) string { return name[:min(len(name), 40)] }

func bad(format string) *measure.Fault {
	return &measure.Fault{Kind: measure.BadAnswer, Message: format}
}
