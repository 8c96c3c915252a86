package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"triptych/gateway/internal/fronttest"
	gateway "triptych/gateway/jobs"
	"triptych/gateway/jobs/jobstest"
	pb "triptych/proto/jobs"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// list reads all pages of a list of jobs.
func list(t *testing.T, s *jobstest.Server, query string) []string {
	t.Helper()
	var ids []string
	for cursor := ""; ; {
		a := s.Get("/v1/jobs?" + query + "&cursor=" + cursor)
		var doc struct {
			Jobs []jobstest.Document
			Next string
		}
		if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, j := range doc.Jobs {
			ids = append(ids, j.ID)
		}
		if cursor = doc.Next; cursor == "" {
			return ids
		}
	}
}

func TestList(t *testing.T) {
	s := jobstest.Start(t)
	if got := list(t, s, ""); len(got) != 0 {
		t.Errorf("%v", got)
	}
	var ids []string
	for i := range 7 {
		settings := map[string]string{"name": "odd"}
		if i%2 == 0 {
			settings = map[string]string{"model": "echo"}
		}
		ids = append(ids, s.Job(s.Send(jobstest.FormOf(settings, "a")), http.StatusAccepted).ID)
	}
	slices.Reverse(ids)
	testkit.Eventually(t, 10*time.Second, "all jobs to be listed", func() bool { return len(list(t, s, "")) == 7 })
	for _, query := range []string{"", "limit=1", "limit=2", "limit=7", "state=running"} {
		if got := list(t, s, query); !slices.Equal(got, ids) {
			t.Errorf("%q: %v, want %v", query, got, ids)
		}
	}
	if got := list(t, s, "name=odd&limit=2"); !slices.Equal(got, []string{ids[1], ids[3], ids[5]}) {
		t.Errorf("by name: %v", got)
	}
	if got := list(t, s, "model=echo&limit=3"); !slices.Equal(got, []string{ids[0], ids[2], ids[4], ids[6]}) {
		t.Errorf("by model: %v", got)
	}
	if got := list(t, s, "state=done"); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}

func TestCancel(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b", "c")
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	if doc := s.Job(s.Do(http.MethodDelete, "/v1/jobs/"+id, http.NoBody), http.StatusAccepted); doc.State != "cancelling" {
		t.Errorf("%+v", doc)
	}
	got := lines(t, s.Get("/v1/jobs/"+id+"/results"))
	if len(got) != 4 || got[1].State != "cancelled" || got[2].State != "cancelled" || got[3].End != "cancelled" {
		t.Errorf("%+v", got)
	}
	if doc := s.Job(s.Do(http.MethodDelete, "/v1/jobs/"+id, http.NoBody), http.StatusOK); doc.State != "cancelled" || doc.Counts["cancelled"] != 2 || doc.Ended == "" {
		t.Errorf("%+v", doc)
	}
	id = s.Create("a")
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	testkit.Eventually(t, 10*time.Second, "the job to end", func() bool { return s.Job(s.Get("/v1/jobs/"+id), http.StatusOK).State == "done" })
	if a := s.Do(http.MethodDelete, "/v1/jobs/"+id, http.NoBody); a.Status != http.StatusConflict {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Without a store every route says so in one sentence, and a preference for later is
// passed over.
func TestDisabled(t *testing.T) {
	j, err := gateway.New(gateway.DefaultConfig(), nil, jobstest.Models(), telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	s := fronttest.StartWith(t, jobstest.Models(), j.Routes(), func(c *fronttest.Config) { c.Background = j.Background() })
	for _, r := range j.Routes() {
		if a := s.Do(r.Method, r.Path, http.NoBody); a.Status != http.StatusNotImplemented || a.Failure().Code != "UNSUPPORTED" {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, a.Status, a.Body)
		}
	}
	a := s.Post("/v2/models/echo/infer", []byte(`{"inputs":[{"name":"IN","datatype":"BYTES","shape":[1],"data":["x"]}]}`), "Prefer", "respond-async")
	if a.Status != http.StatusOK || a.Header.Get("Preference-Applied") != "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, part := range j.Parts() {
		if err := part.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A request of the Open Inference Protocol that prefers not to wait is a job of one.
func TestRespondAsync(t *testing.T) {
	s := jobstest.Start(t)
	infer := func(model, body string, headers ...string) fronttest.Answer {
		return s.Post("/v2/models/"+model+"/infer", []byte(body), append([]string{"Prefer", "wait=5, Respond-Async;x=1"}, headers...)...)
	}
	const good = `{"id":"mine","inputs":[{"name":"IN","datatype":"BYTES","shape":[1],"data":["x"]}]}`
	a := infer("echo", good, "Triptych-Priority", "1")
	doc := s.Job(a, http.StatusAccepted)
	if doc.Model != "echo" || doc.Items != 1 || doc.Priority != 1 || a.Header.Get("Preference-Applied") != "respond-async" || a.Header.Get("Location") != "/v1/jobs/"+doc.ID {
		t.Errorf("%+v, %v", doc, a.Header)
	}
	page, err := s.Store.Page(t.Context(), doc.ID, 0)
	if err != nil || page.GetItems()[0].GetRequest().GetId() != "mine" || string(page.GetItems()[0].GetRequest().GetRawInputContents()[0]) != "\x01\x00\x00\x00x" {
		t.Errorf("%v %v", page, err)
	}
	stored := s.Stored()
	for name, tt := range map[string]struct {
		model, body string
		status      int
	}{
		"unknown model":  {"absent", good, 404},
		"wrong shape":    {"echo", `{"inputs":[{"name":"IN","datatype":"BYTES","shape":[2],"data":["x","y"]}]}`, 400},
		"wrong name":     {"echo", `{"inputs":[{"name":"INN","datatype":"BYTES","shape":[1],"data":["x"]}]}`, 400},
		"no JSON":        {"echo", `{`, 400},
		"classification": {"echo", `{"inputs":[{"name":"IN","datatype":"BYTES","shape":[1],"data":["x"]}],"outputs":[{"name":"OUT","parameters":{"classification":2}}]}`, 501},
	} {
		if a := infer(tt.model, tt.body); a.Status != tt.status || a.Header.Get("Preference-Applied") != "" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if n := s.Stored(); n != stored {
		t.Errorf("%d messages, %d before", n, stored)
	}
	first := s.Job(infer("echo", good, "Idempotency-Key", "k"), http.StatusAccepted)
	if again := s.Job(infer("echo", good, "Idempotency-Key", "k"), http.StatusAccepted); again.ID != first.ID {
		t.Error("the same request is another job")
	}
	if a := s.Post("/v2/models/echo/infer", []byte(good)); a.Status != http.StatusOK {
		t.Errorf("without the preference: %d", a.Status)
	}
}
