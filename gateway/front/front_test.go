package front_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triptych/gateway/front"
	"triptych/gateway/internal/fronttest"
	"triptych/gateway/web"
	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

func TestHeadersOfEveryAnswer(t *testing.T) {
	s := fronttest.Start(t, server())
	for _, a := range []fronttest.Answer{s.Get("/v2/health/live"), s.Get("/nothing"), s.Get(infer), s.Post(infer, []byte("bad"))} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'",
			"Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Server": "", "Content-Type": "application/json",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Traceparent") == "" {
			t.Errorf("%v", a.Header)
		}
	}
	if allow := s.Get(infer).Header.Get("Allow"); allow != http.MethodPost {
		t.Errorf("Allow is %q", allow)
	}
}

func TestRequestID(t *testing.T) {
	s := fronttest.Start(t, server())
	for sent, kept := range map[string]bool{"abc-1": true, "two words": false, strings.Repeat("x", 129): false, "": false} {
		got := s.Do(http.MethodGet, "/v2", nil, "X-Request-Id", sent).Header.Get("X-Request-Id")
		if (got == sent) != kept || got == "" {
			t.Errorf("%q became %q", sent, got)
		}
	}
}

func TestCallInfo(t *testing.T) {
	var got call.Info
	routes := []web.Route{{Method: http.MethodGet, Path: "/info", Handle: func(c *gin.Context) error {
		got = call.Of(c.Request.Context())
		return web.JSON(c, http.StatusOK, nil)
	}}}
	s := fronttest.StartWith(t, server(), routes)
	s.Do(http.MethodGet, "/info", nil, "x-request-id", "r1", "Triptych-Priority", "3")
	if got != (call.Info{RequestID: "r1", Priority: 3}) {
		t.Errorf("%+v", got)
	}
	if a := s.Do(http.MethodGet, "/info", nil, "triptych-priority", "high"); a.Status != http.StatusBadRequest {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestTrace(t *testing.T) {
	s := fronttest.Start(t, server())
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	a := s.Do(http.MethodPost, "/v1/classify", strings.NewReader("cat"), "TraceParent", parent)
	s.Do(http.MethodPost, "/v1/classify", strings.NewReader("boom"), "traceparent", "rubbish")
	s.Get("/nothing")
	s.Do("XQ17", "/v2", nil)
	spans := s.Spans.Ended()
	first := spans[0]
	if first.Name() != "POST /v1/classify" || first.SpanKind() != trace.SpanKindServer || first.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("%s, child of %s", first.Name(), first.Parent().SpanID())
	}
	if want := "00-0af7651916cd43dd8448eb211c80319c-" + first.SpanContext().SpanID().String() + "-01"; a.Header.Get("Traceparent") != want {
		t.Errorf("%q, want %q", a.Header.Get("Traceparent"), want)
	}
	attributes := attribute.NewSet(first.Attributes()...)
	for key, want := range map[attribute.Key]string{"http.request.method": "POST", "http.route": "/v1/classify", "http.response.status_code": "200", "url.path": "/v1/classify"} {
		if v, _ := attributes.Value(key); v.String() != want {
			t.Errorf("%s is %q", key, v.String())
		}
	}
	failed := spans[1]
	if failed.Parent().IsValid() || failed.Status().Code != codes.Error || len(failed.Events()) != 1 {
		t.Errorf("%v %v %v", failed.Parent(), failed.Status(), failed.Events())
	}
	if spans[2].Name() != "GET" || spans[3].Name() != "HTTP" {
		t.Errorf("%q, %q", spans[2].Name(), spans[3].Name())
	}
}

func TestLogLine(t *testing.T) {
	s := fronttest.Start(t, server())
	s.Post("/v1/classify", []byte("boom"), "X-Request-Id", "r7")
	lines := strings.Split(strings.TrimSpace(s.Log.String()), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d lines: %s", len(lines), s.Log)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	for key := range line {
		if n := strings.Count(lines[0], `"`+key+`":`); n != 1 {
			t.Errorf("%s is there %d times", key, n)
		}
	}
	for key, want := range map[string]any{
		"level": "WARN", "msg": "request", "method": "POST", "route": "/v1/classify", "status": 500.0, "bytes_in": 4.0, "request_id": "r7", "code": "INTERNAL",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if line["ms"].(float64) <= 0 || line["bytes_out"].(float64) < 10 || len(line["trace_id"].(string)) != 32 || !strings.Contains(line["error"].(string), "panic: runtime error: slice bounds") {
		t.Errorf("%v", line)
	}
}

// TestLabelsAreBounded is OTL-05: no caller makes a series.
func TestLabelsAreBounded(t *testing.T) {
	s := fronttest.Start(t, server())
	for i := range 50 {
		s.Do(http.MethodPost, fmt.Sprintf("/v2/models/m%d/infer", i), strings.NewReader(`{"inputs":[]}`))
		s.Do(http.MethodGet, fmt.Sprintf("/v2/nothing/%d", i), nil, "User-Agent", fmt.Sprint(i))
		s.Do(fmt.Sprintf("XQ%d", i), "/v2", nil)
		s.Do(http.MethodGet, fmt.Sprintf("/v2/models/echo/versions/%d", i+2), nil)
	}
	n, err := testutil.GatherAndCount(s.Registry, "triptych_http_requests_total", "triptych_http_request_duration_seconds")
	if err != nil || n != 7 {
		t.Errorf("%d series, %v", n, err)
	}
	const want = `
		# HELP triptych_http_requests_total Requests answered over HTTP.
		# TYPE triptych_http_requests_total counter
		triptych_http_requests_total{code="404",method="GET",route="/v2/models/:model/versions/:version"} 50
		triptych_http_requests_total{code="404",method="GET",route="unmatched"} 50
		triptych_http_requests_total{code="404",method="POST",route="/v2/models/:model/infer"} 50
		triptych_http_requests_total{code="405",method="_OTHER",route="unmatched"} 50
	`
	if err := testutil.GatherAndCompare(s.Registry, strings.NewReader(want), "triptych_http_requests_total"); err != nil {
		t.Error(err)
	}
}

func TestPanicAfterTheAnswerBegan(t *testing.T) {
	routes := []web.Route{{Method: http.MethodGet, Path: "/half", Handle: func(c *gin.Context) error {
		c.Header("Content-Length", "100")
		c.Status(http.StatusOK)
		_, _ = c.Writer.WriteString("half")
		panic("late")
	}}}
	s := fronttest.StartWith(t, server(), routes)
	resp, err := s.Client.Get(s.URL + "/half")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := resp.Body.Read(make([]byte, 200)); n != 4 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := resp.Body.Read(make([]byte, 200)); err == nil || err.Error() != "unexpected EOF" {
		t.Errorf("the caller takes half for whole: %v", err)
	}
	if a := s.Get("/v2"); a.Status != http.StatusOK {
		t.Errorf("the next request: %d", a.Status)
	}
}

func TestRetryAfterIsWholeSeconds(t *testing.T) {
	hint := failure.New(failure.Busy, "full")
	hint.RetryAfter = 2_100_000_000
	routes := []web.Route{{Method: http.MethodGet, Path: "/busy", Handle: func(*gin.Context) error { return hint }}}
	s := fronttest.StartWith(t, server(), routes)
	if a := s.Get("/busy"); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "3" {
		t.Errorf("%d %v", a.Status, a.Header)
	}
}

func TestCompressedAnswers(t *testing.T) {
	s := fronttest.Start(t, server())
	const path = "/v1/classify?top_k=500"
	plain := s.Post(path, []byte("cat"))
	for accept, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "deflate": false, "*": false} {
		a := s.Post(path, []byte("cat"), "Accept-Encoding", accept)
		if (a.Header.Get("Content-Encoding") == "gzip") != packed || a.Header.Get("Vary") != "Accept-Encoding" || packed && len(a.Body) > len(plain.Body)/5 {
			t.Errorf("%q: %d bytes of %d, %v", accept, len(a.Body), len(plain.Body), a.Header)
		}
	}
	if a := s.Do(http.MethodGet, "/v2", nil, "Accept-Encoding", "gzip"); a.Header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
}

func TestConfig(t *testing.T) {
	cfg := front.DefaultConfig()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	cfg.RegisterFlags(fs)
	if err := fs.Parse([]string{"--http-address", ":1", "--classify-max-files", "3"}); err != nil || cfg.Address != ":1" || cfg.Classify.MaxFiles != 3 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for flag, spoil := range map[string]func(*front.Config){
		"http-address":             func(c *front.Config) { c.Address = "" },
		"http-max-body-bytes":      func(c *front.Config) { c.MaxBody = 0 },
		"http-min-body-rate":       func(c *front.Config) { c.MinBodyRate = 0 },
		"request-timeout":          func(c *front.Config) { c.RequestTimeout = 0 },
		"http-idle-timeout":        func(c *front.Config) { c.IdleTimeout = -1 },
		"classify-max-image-bytes": func(c *front.Config) { c.Classify.MaxImage = 0 },
		"classify-max-files":       func(c *front.Config) { c.Classify.MaxFiles = 0 },
		"classify-parallel-images": func(c *front.Config) { c.Classify.Parallel = 0 },
	} {
		cfg := front.DefaultConfig()
		spoil(&cfg)
		if _, err := front.New(cfg, server(), room(t), telemetry.Discard(), nil); err == nil || !strings.Contains(err.Error(), "--"+flag+" ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestNewFails(t *testing.T) {
	tel := telemetry.Discard()
	if _, err := front.New(front.DefaultConfig(), server(), room(t), tel, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := front.New(front.DefaultConfig(), server(), room(t), tel, nil); err == nil {
		t.Error("the same registry twice is no error")
	}
	clash := web.Route{Method: http.MethodGet, Path: "/v2", Handle: func(*gin.Context) error { return nil }}
	if _, err := front.New(front.DefaultConfig(), server(), room(t), telemetry.Discard(), nil, clash); err == nil {
		t.Error("routes that clash are no error")
	}
}
