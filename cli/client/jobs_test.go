package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/client"
	"triptych/shared/failure"
)

// talk is a client of a server, which may be silent for so long.
func talk(t *testing.T, silence time.Duration, handle http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	c, err := client.New(server.URL, silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

// patient tries again for a while.
func patient() client.Patience { return client.Patience{For: 10 * time.Second} }

func TestSubmit(t *testing.T) {
	t.Parallel()
	c := talk(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, `{"id":"j1","name":"%s %s %s %d %s","items":3,"counts":{"pending":2},"new":true}`, r.URL.RawQuery, r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), r.ContentLength, body)
	})
	job, err := c.Submit(t.Context(), client.Submission{Settings: map[string][]string{"model": {"m"}}, Key: "k", ContentType: "application/zip", Size: 4, Body: strings.NewReader("body")})
	if err != nil || job.Name != "model=m k application/zip 4 body" || job.Over() || job.Done() != 1 || !strings.Contains(string(job.Raw), `"new":true`) {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestSubmitFails(t *testing.T) {
	t.Parallel()
	cut := failure.New(failure.Invalid, "a.jpg can't be read")
	for name, tt := range map[string]struct {
		silence time.Duration
		handle  http.HandlerFunc
		body    io.Reader
		kind    failure.Kind
		says    string
	}{
		"its own body": {time.Minute, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }, io.MultiReader(strings.NewReader("x"), iotest.ErrReader(cut)), failure.Invalid, "a.jpg can't be read"},
		"a silent gateway": {50 * time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, strings.NewReader("x"), failure.Unavailable, "nothing was heard for 50ms"},
		"half an answer": {time.Minute, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, strings.NewReader("x"), failure.Unavailable, " broke off"},
		"no job":    {time.Minute, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, strings.NewReader("x"), failure.Internal, " is not what a gateway says"},
		"a refusal": {time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, strings.NewReader("x"), failure.Busy, "the gateway answered 429 Too Many Requests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := talk(t, tt.silence, tt.handle).Submit(t.Context(), client.Submission{Size: -1, Body: tt.body})
			if failure.KindOf(err) != tt.kind || !strings.HasSuffix(failure.Message(err), tt.says) {
				t.Errorf("%s: %v", failure.KindOf(err), err)
			}
		})
	}
}

// A gateway that refuses at once gets no body.
func TestSubmitWaitsForWelcome(t *testing.T) {
	t.Parallel()
	c := talk(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := c.Submit(t.Context(), client.Submission{Size: -1, Body: iotest.ErrReader(failure.New(failure.Internal, "it was read"))})
	if failure.KindOf(err) != failure.Unavailable {
		t.Error(err)
	}
}

// script answers each request with the next text, and the last one for ever; what
// begins with ! breaks off after it.
func script(asked *[]string, mu *sync.Mutex, contentType string, texts ...string) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		text := texts[min(n, len(texts)-1)]
		n++
		*asked = append(*asked, r.URL.RequestURI()+" "+r.Header.Get("Last-Event-ID"))
		mu.Unlock()
		w.Header().Set("Content-Type", contentType)
		text, broken := strings.CutPrefix(text, "!")
		_, _ = io.WriteString(w, text)
		if broken {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	const first, second, end = `{"cursor":"7","item":0}` + "\n", `{"cursor":"9","item":1}` + "\n", `{"cursor":"9","end":"done"}` + "\n"
	for name, tt := range map[string]struct {
		texts  []string
		wanted client.Wanted
		items  []int
		asked  []string
	}{
		"whole":             {[]string{first + "\n\r\n" + second + end}, client.Wanted{Follow: true}, []int{0, 1, -1}, []string{"?follow=true"}},
		"cut":               {[]string{"!" + first, second, end}, client.Wanted{Follow: true, Outcome: "failed"}, []int{0, 1, -1}, []string{"?follow=true&outcome=failed", "?cursor=7&follow=true&outcome=failed", "?cursor=9&follow=true&outcome=failed"}},
		"cut within a line": {[]string{first + second[:9], second + end}, client.Wanted{Follow: true}, []int{0, 1, -1}, []string{"?follow=true", "?cursor=7&follow=true"}},
		"not followed":      {[]string{first}, client.Wanted{Cursor: "3"}, []int{0}, []string{"?cursor=3&follow=false"}},
		"nothing, cut":      {[]string{"!", first}, client.Wanted{}, []int{0}, []string{"?follow=false", "?follow=false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			var items []int
			c := talk(t, time.Minute, script(&asked, &mu, "application/x-ndjson", tt.texts...))
			err := c.Results(t.Context(), "j1", tt.wanted, patient(), func(r client.Result) error {
				if r.End != "" {
					r.Item = -1
				}
				items = append(items, r.Item)
				return nil
			})
			for i := range asked {
				asked[i] = strings.TrimSuffix(strings.TrimPrefix(asked[i], "/v1/jobs/j1/results"), " ")
			}
			if err != nil || cmp.Diff(tt.items, items) != "" || cmp.Diff(tt.asked, asked) != "" {
				t.Errorf("%v, items %v, asked %q", err, items, asked)
			}
		})
	}
}

func TestResultsFail(t *testing.T) {
	t.Parallel()
	full := failure.New(failure.Unavailable, "the disk is full")
	for name, tt := range map[string]struct {
		text string
		each error
		says string
	}{
		"who takes them": {`{"cursor":"1"}` + "\n", full, "the disk is full"},
		"no JSON":        {"hello\n", nil, " is not what a gateway says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			c := talk(t, time.Minute, script(&asked, &mu, "", tt.text))
			err := c.Results(t.Context(), "j1", client.Wanted{Follow: true}, patient(), func(client.Result) error { return tt.each })
			if err == nil || !strings.HasSuffix(failure.Message(err), tt.says) || len(asked) != 1 {
				t.Errorf("%v after %q", err, asked)
			}
		})
	}
}

func TestWatchReadsEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	c := talk(t, time.Minute, script(&asked, &mu, "text/event-stream; charset=utf-8",
		// The first breaks off, and the status is asked for.
		"!: hello\n\nid: 3\n\nevent: progress\r\nid: 4\r\ndata: {\"id\":\"j1\",\r\ndata: \"items\":1}\r\n\r\nevent: progress\n",
		`{"id":"j1","items":2}`,
		"retry: 5\nid:5\nevent:end\ndata:{\"id\":\"j1\",\"items\":3,\"state\":\"done\"}\n\n",
	))
	var items []int
	job, err := c.Watch(t.Context(), "j1", patient(), func(j client.Job) { items = append(items, j.Items) })
	if err != nil || job.State != "done" || cmp.Diff([]int{1, 2, 3}, items) != "" {
		t.Errorf("%+v, %v, %v", job, err, items)
	}
	if want := []string{"/v1/jobs/j1/events ", "/v1/jobs/j1 ", "/v1/jobs/j1/events 4"}; cmp.Diff(want, asked) != "" {
		t.Errorf("asked %q", asked)
	}
}

func TestWatchGivesUp(t *testing.T) {
	t.Parallel()
	c := talk(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	notices := 0
	_, err := c.Watch(t.Context(), "j1", client.Patience{For: time.Second, Notice: func(error, time.Duration) { notices++ }}, func(client.Job) {})
	if failure.KindOf(err) != failure.Unavailable || notices == 0 {
		t.Errorf("%v after %d notices", err, notices)
	}
}
