package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"triptych/loadtest/bench/jobs/api"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestForm(t *testing.T) {
	contents := [][]byte{[]byte("one"), []byte("the second"), {}}
	for name, read := range map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
	} {
		t.Run(name, func(t *testing.T) {
			form := api.NewForm(contents, 4)
			body, err := io.ReadAll(read(form))
			if err != nil || int64(len(body)) != form.Size() {
				t.Fatalf("%d bytes, size %d, error %v", len(body), form.Size(), err)
			}
			_, parameters, err := mime.ParseMediaType(form.ContentType())
			if err != nil {
				t.Fatal(err)
			}
			reader := multipart.NewReader(strings.NewReader(string(body)), parameters["boundary"])
			for i := range 4 {
				part, err := reader.NextPart()
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(part)
				if err != nil || string(data) != string(contents[i%3]) || part.FileName() != fmt.Sprintf("%07d.jpg", i) {
					t.Errorf("part %d is %q, %q, error %v", i, part.FileName(), data, err)
				}
			}
			if _, err := reader.NextPart(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last part: %v", err)
			}
		})
	}
}

// toy is a gateway whose one job has done one item more at each look.
type toy struct {
	items, done int
	state       string
	results     string
}

func (g *toy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.RequestURI() {
	case "POST /v1/jobs?model=m":
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		g.items = len(r.MultipartForm.File["file"])
		w.WriteHeader(http.StatusAccepted)
		g.document(w)
	case "GET /v1/jobs/j":
		g.done = min(g.done+1, g.items)
		g.document(w)
	case "GET /v1/jobs?limit=100":
		_, _ = io.WriteString(w, `{"jobs":[{"id":"j"},{"id":"k"}]}`)
	case "DELETE /v1/jobs/j":
		g.state = "cancelled"
		w.WriteHeader(http.StatusAccepted)
		g.document(w)
	case "GET /v1/jobs/j/results":
		_, _ = io.WriteString(w, g.results)
	default:
		http.Error(w, `{"error":"unknown job"}`, http.StatusNotFound)
	}
}

func (g *toy) document(w io.Writer) {
	_, _ = fmt.Fprintf(w, `{"id":"j","state":%q,"items":%d,"counts":{"pending":%d,"succeeded":%d}}`, g.state, g.items, g.items-g.done, g.done)
}

func client(t *testing.T, g *toy) *api.Client {
	t.Helper()
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	c := api.New(s.Listener.Addr().String())
	t.Cleanup(c.Close)
	return c
}

func TestClient(t *testing.T) {
	c := client(t, &toy{state: "running"})
	ctx := t.Context()
	job, err := c.Submit(ctx, "m", api.NewForm([][]byte{[]byte("image")}, 3))
	if want := (api.Status{ID: "j", State: "running", Items: 3, Counts: api.Counts{Pending: 3}}); err != nil || job != want {
		t.Fatalf("submitted: %+v, error %v", job, err)
	}
	job, err = c.Until(ctx, job.ID, time.Millisecond, func(s api.Status) bool { return s.Counts.Pending == 0 })
	if err != nil || job.Counts.Succeeded != 3 {
		t.Errorf("at the end: %+v, error %v", job, err)
	}
	if n, err := c.List(ctx); err != nil || n != 2 {
		t.Errorf("listed %d, error %v", n, err)
	}
	if err := c.Cancel(ctx, job.ID); err != nil {
		t.Error(err)
	}
	if job, err = c.End(ctx, job.ID, time.Millisecond); err != nil || job.State != "cancelled" {
		t.Errorf("cancelled: %+v, error %v", job, err)
	}
	if _, err := c.Job(ctx, "x"); err == nil || !strings.Contains(err.Error(), "GET /v1/jobs/x is answered 404 Not Found: {\"error\":\"unknown job\"}") {
		t.Errorf("another job: %v", err)
	}
}

func TestUntilItIsEnough(t *testing.T) {
	c := client(t, &toy{state: "running", items: 1 << 30})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.End(ctx, "j", time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a job that never ends: %v", err)
	}
}

func TestResults(t *testing.T) {
	for name, tt := range map[string]struct {
		body  string
		items int
		want  string
	}{
		"whole":    {"{\"item\":0,\"state\":\"succeeded\"}\n{\"item\":1,\"state\":\"failed\"}\n{\"cursor\":\"9\",\"end\":\"done\"}\n", 2, ""},
		"cut":      {"{\"item\":0,\"state\":\"succeeded\"}\n", 1, "end after 1 items without a last line"},
		"not JSON": {"{\"item\":0}\n<html>\n", 1, "result 1 is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			items, err := client(t, &toy{results: tt.body}).Results(t.Context(), "j")
			if items != tt.items || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d items, error %v", items, err)
			}
		})
	}
}
