package cli_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeJobs is a gateway that keeps jobs in memory. Items called bad fail, those
// called poison die, all others succeed.
type fakeJobs struct {
	t   *testing.T
	url string
	// hold keeps items undecided until release.
	hold bool

	mu      sync.Mutex
	changed chan struct{}
	jobs    []*fakeJob
	keys    map[string]*fakeJob
	faults  map[string][]fault
	seen    []string // method and path of each request
	types   []string // content types of bodies
}

// fault is what happens to one request instead of, or around, its answer.
type fault func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

type fakeJob struct {
	id, key, model, name, state string
	query                       string
	items                       []string
	outcomes                    []string // of the first of the items
	body                        string
}

func newFakeJobs(t *testing.T) *fakeJobs {
	t.Helper()
	f := &fakeJobs{t: t, changed: make(chan struct{}), keys: map[string]*fakeJob{}, faults: map[string][]fault{}}
	mux := http.NewServeMux()
	for route, handle := range map[string]http.HandlerFunc{
		"POST /v1/jobs":                              f.submit,
		"GET /v1/jobs":                               f.list,
		"GET /v1/jobs/{id}":                          f.get,
		"DELETE /v1/jobs/{id}":                       f.cancel,
		"GET /v1/jobs/{id}/results":                  f.results,
		"GET /v1/jobs/{id}/events":                   f.events,
		"GET /v1/dead-letters":                       f.letters,
		"GET /v1/dead-letters/{job}/{item}":          f.letter,
		"POST /v1/dead-letters/{job}/{item}/requeue": f.change("requeued"),
		"POST /v1/dead-letters/requeue":              f.change("requeued"),
		"DELETE /v1/dead-letters/{job}/{item}":       f.change("purged"),
		"DELETE /v1/dead-letters":                    f.change("purged"),
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			if hit := f.arrive(route, r); hit != nil {
				hit(w, r, handle)
				return
			}
			handle(w, r)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// fail lets the next requests of a route meet faults, one each.
func (f *fakeJobs) fail(route string, faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[route] = append(f.faults[route], faults...)
}

func (f *fakeJobs) arrive(route string, r *http.Request) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, r.Method+" "+r.URL.RequestURI())
	if r.Method == http.MethodPost {
		f.types = append(f.types, r.Header.Get("Content-Type"))
	}
	if len(f.faults[route]) == 0 {
		return nil
	}
	first := f.faults[route][0]
	f.faults[route] = f.faults[route][1:]
	return first
}

// count is how many requests there were that begin so.
func (f *fakeJobs) count(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func say(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}

func refuse(w http.ResponseWriter, status int, message string) {
	say(w, status, map[string]string{"error": message, "code": "X"})
}

// refusal answers a status, and says when to come back.
func refusal(status int, after, message string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Retry-After", after)
		refuse(w, status, message)
	}
}

// lost does everything, and then breaks the connection.
func lost(_ http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	next(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// cutAfter breaks the connection after so many bytes of the answer.
func cutAfter(n int) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		next(&cutter{w, n}, r)
	}
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutter) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, _ = c.ResponseWriter.Write(p[:n])
	if c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return len(p), nil
}

func (f *fakeJobs) submit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	items, err := itemsOf(r.Header.Get("Content-Type"), body)
	if err != nil || len(items) == 0 {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("the body can't be read: %v", err))
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	j := f.keys[key]
	if j != nil && j.body != string(body) {
		refuse(w, http.StatusConflict, "another job has this key")
		return
	}
	if j == nil {
		q := r.URL.Query()
		j = &fakeJob{id: fmt.Sprintf("job%d", len(f.jobs)+1), key: key, model: q.Get("model"), name: q.Get("name"), state: "running", query: r.URL.RawQuery, items: items, body: string(body)}
		f.jobs, f.keys[key] = append(f.jobs, j), j
		if !f.hold {
			f.decide(j, len(items))
		}
	}
	w.Header().Set("Location", "/v1/jobs/"+j.id)
	say(w, http.StatusAccepted, j.status())
}

func itemsOf(contentType string, body []byte) (items []string, err error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "multipart/form-data":
		form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for {
			part, err := form.NextPart()
			if errors.Is(err, io.EOF) {
				return items, nil
			}
			if err != nil {
				return nil, err
			}
			_, disposition, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			if err != nil {
				return nil, err
			}
			items = append(items, disposition["filename"])
		}
	case "application/json":
		var doc struct{ Items []struct{ Key string } }
		err := json.Unmarshal(body, &doc)
		for _, i := range doc.Items {
			items = append(items, i.Key)
		}
		return items, err
	case "application/zip":
		z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			return nil, err
		}
		for _, file := range z.File {
			items = append(items, file.Name)
		}
		return items, nil
	case "application/gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		return itemsOfTar(z)
	default:
		return itemsOfTar(bytes.NewReader(body))
	}
}

func itemsOfTar(r io.Reader) (items []string, err error) {
	t := tar.NewReader(r)
	for {
		head, err := t.Next()
		if err == io.EOF {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		items = append(items, head.Name)
	}
}

// decide gives so many more items their verdict. The lock is held.
func (f *fakeJobs) decide(j *fakeJob, n int) {
	for ; n > 0 && len(j.outcomes) < len(j.items); n-- {
		outcome := "succeeded"
		switch name := j.items[len(j.outcomes)]; {
		case j.state == "cancelling":
			outcome = "cancelled"
		case strings.Contains(name, "bad"):
			outcome = "failed"
		case strings.Contains(name, "poison"):
			outcome = "dead"
		}
		j.outcomes = append(j.outcomes, outcome)
	}
	if len(j.outcomes) == len(j.items) {
		j.state = map[string]string{"running": "done", "cancelling": "cancelled"}[j.state]
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// release decides so many items of the first job.
func (f *fakeJobs) release(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide(f.jobs[0], n)
}

func (j *fakeJob) count(outcome string) int {
	n := 0
	for _, o := range j.outcomes {
		if o == outcome {
			n++
		}
	}
	return n
}

func (j *fakeJob) status() map[string]any {
	doc := map[string]any{
		"id": j.id, "model": j.model, "state": j.state, "priority": 2,
		"created": "2026-01-02T03:04:05.000Z", "deadline": "2026-01-03T03:04:05.000Z",
		"items": len(j.items), "rate_per_second": 2.5, "request_id": "r1", "trace_id": "t1",
		"counts": map[string]int{
			"pending": len(j.items) - len(j.outcomes), "succeeded": j.count("succeeded"), "failed": j.count("failed"),
			"dead": j.count("dead"), "cancelled": j.count("cancelled"), "expired": 0,
		},
	}
	if j.name != "" {
		doc["name"] = j.name
	}
	if j.state == "done" || j.state == "cancelled" {
		doc["ended"] = "2026-01-02T03:04:07.500Z"
	}
	return doc
}

// find gives a job with the lock held, or answers that there is none.
func (f *fakeJobs) find(w http.ResponseWriter, id string) *fakeJob {
	for _, j := range f.jobs {
		if j.id == id {
			return j
		}
	}
	refuse(w, http.StatusNotFound, "there is no job \""+id+"\"")
	return nil
}

func (f *fakeJobs) get(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j := f.find(w, r.PathValue("id")); j != nil {
		say(w, http.StatusOK, j.status())
	}
}

func (f *fakeJobs) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		f.t.Errorf("limit %q", q.Get("limit"))
	}
	from, _ := strconv.Atoi(q.Get("cursor"))
	page := map[string]any{}
	docs := []any{}
	for i, j := range slices.Backward(f.jobs) {
		at := len(f.jobs) - 1 - i
		if at < from || (q.Get("state") != "" && j.state != q.Get("state")) || (q.Get("name") != "" && j.name != q.Get("name")) || (q.Get("model") != "" && j.model != q.Get("model")) {
			continue
		}
		if len(docs) == limit {
			page["next"] = strconv.Itoa(at)
			break
		}
		docs = append(docs, j.status())
	}
	page["jobs"] = docs
	say(w, http.StatusOK, page)
}

func (f *fakeJobs) cancel(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.find(w, r.PathValue("id"))
	switch {
	case j == nil:
	case j.state == "done":
		refuse(w, http.StatusConflict, "the job has ended")
	default:
		j.state = "cancelling"
		say(w, http.StatusAccepted, j.status())
	}
}

// line is a line of the results; the cursor counts from 1.
func (j *fakeJob) line(i int) map[string]any {
	doc := map[string]any{
		"cursor": strconv.Itoa(i + 1), "item": i, "name": j.items[i], "state": j.outcomes[i],
		"timings_ms": map[string]float64{"waited": 2, "queue": 4.34, "compute": 6, "total": 12.34, "step m": 10.34}, "trace_id": "t", "attempts": 1,
	}
	switch j.outcomes[i] {
	case "succeeded":
		doc["predictions"] = []any{map[string]any{"label": "tabby", "score": 0.5, "class": 281}, map[string]any{"label": "lynx", "score": 0.25, "class": 287}}
	case "failed":
		doc["error"], doc["step"] = map[string]string{"code": "BROKEN_IMAGE", "message": "the image is cut"}, "imagenet_preprocess"
	default:
		doc["error"] = map[string]string{"code": "INTERNAL", "message": "it was " + j.outcomes[i]}
	}
	return doc
}

func (f *fakeJobs) results(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	at, _ := strconv.Atoi(q.Get("cursor"))
	flusher := http.NewResponseController(w)
	f.mu.Lock()
	j := f.find(w, r.PathValue("id"))
	f.mu.Unlock()
	if j == nil {
		return
	}
	encoder := json.NewEncoder(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	for {
		f.mu.Lock()
		changed, ended := f.changed, j.state == "done" || j.state == "cancelled"
		var docs []any
		for ; at < len(j.outcomes); at++ {
			if q.Get("outcome") == "" || q.Get("outcome") == j.outcomes[at] {
				docs = append(docs, j.line(at))
			}
		}
		if ended && q.Get("follow") == "true" {
			docs = append(docs, map[string]any{"cursor": strconv.Itoa(at), "end": j.state})
		}
		f.mu.Unlock()
		for _, doc := range docs {
			_ = encoder.Encode(doc)
		}
		_ = flusher.Flush()
		if ended || q.Get("follow") == "false" || !wait(r.Context(), changed) {
			return
		}
	}
}

func wait(ctx context.Context, changed chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	case <-time.After(time.Minute):
		return false
	}
}

func (f *fakeJobs) events(w http.ResponseWriter, r *http.Request) {
	flusher := http.NewResponseController(w)
	f.mu.Lock()
	j := f.find(w, r.PathValue("id"))
	f.mu.Unlock()
	if j == nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": hello\n\n")
	for {
		f.mu.Lock()
		changed, ended := f.changed, j.state == "done" || j.state == "cancelled"
		doc, err := json.Marshal(j.status())
		id := len(j.outcomes)
		f.mu.Unlock()
		if err != nil {
			f.t.Error(err)
		}
		name := "progress"
		if ended {
			name = "end"
		}
		_, _ = fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n\n", name, id, doc)
		_ = flusher.Flush()
		if ended || !wait(r.Context(), changed) {
			return
		}
	}
}

func (j *fakeJob) letter(i int) map[string]any {
	return map[string]any{
		"job": j.id, "item": i, "name": j.items[i], "model": j.model, "step": "efficientnet_lite0",
		"reason": map[string]string{"code": "INTERNAL", "message": "the model broke"}, "attempts": 3, "trace_id": "t1", "time": "2026-01-02T03:04:06.000Z",
	}
}

func (f *fakeJobs) letters(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	docs := []any{}
	for _, j := range f.jobs {
		for i, o := range j.outcomes {
			if o == "dead" && (r.FormValue("job") == "" || r.FormValue("job") == j.id) {
				docs = append(docs, j.letter(i))
			}
		}
	}
	say(w, http.StatusOK, map[string]any{"dead_letters": docs})
}

func (f *fakeJobs) letter(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := strconv.Atoi(r.PathValue("item"))
	j := f.find(w, r.PathValue("job"))
	switch {
	case j == nil:
	case i >= len(j.outcomes) || j.outcomes[i] != "dead":
		refuse(w, http.StatusNotFound, "there is no dead letter of this item")
	default:
		say(w, http.StatusOK, j.letter(i))
	}
}

// change answers with how many dead items a filter matches.
func (f *fakeJobs) change(done string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		q := r.URL.Query()
		if r.PathValue("job") == "" && q.Get("job") == "" && q.Get("model") == "" && q.Get("all") != "true" {
			refuse(w, http.StatusBadRequest, "a filter is wanted, or all=true")
			return
		}
		n := 0
		for _, j := range f.jobs {
			if id := q.Get("job") + r.PathValue("job"); id == "" || id == j.id {
				n += j.count("dead")
			}
		}
		say(w, http.StatusOK, map[string]int{done: n})
	}
}
