package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/client"
	"triptych/shared/failure"
)

// serve gives a client of a server that answers always the same.
func serve(t *testing.T, status int, body string, seen *http.Request) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			*seen = *r
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	c, err := client.New(server.URL+"/", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "127.0.0.1:8000", "ftp://host", "http://", "http://a b"} {
		if _, err := client.New(base, time.Second); failure.KindOf(err) != failure.Invalid {
			t.Errorf("%q: %v, want an invalid URL", base, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	var seen http.Request
	c := serve(t, http.StatusOK, `{"results":[{"predictions":[{"label":"tabby","score":0.5,"class":281}]}],"trace_id":"abc","timings_ms":{"total":1.5}}`, &seen)
	answer, err := c.Classify(t.Context(), "a model", 2, []byte("image"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := seen.URL.String(), "/v1/classify?model=a+model&top_k=2"; got != want || seen.Method != http.MethodPost {
		t.Errorf("asked %s %s, want POST %s", seen.Method, got, want)
	}
	want := []client.Prediction{{Label: "tabby", Score: 0.5, Class: 281}}
	if diff := cmp.Diff(want, answer.Results[0].Predictions); diff != "" || answer.TraceID != "abc" || answer.Timings["total"] != 1.5 {
		t.Errorf("%s, trace %q, timings %v", diff, answer.TraceID, answer.Timings)
	}
}

func TestClassifyFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a refusal":            {http.StatusUnsupportedMediaType, `{"error":"this is a PDF","code":"UNSUPPORTED_MEDIA"}`, "this is a PDF (415 Unsupported Media Type)"},
		"somebody else's page": {http.StatusBadGateway, "<html>", "the gateway answered 502 Bad Gateway"},
		"no JSON":              {http.StatusOK, "hello", "is not what a gateway says"},
		"no result":            {http.StatusOK, `{"results":[]}`, "is not what a gateway says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, tt.status, tt.body, nil).Classify(t.Context(), "classify", 0, nil)
			if err == nil || !strings.HasSuffix(failure.Message(err), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
