package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"triptych/gateway/jobs/jobstest"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
)

// open begins to read an answer that goes on.
func open(t *testing.T, s *jobstest.Server, path string, headers ...string) (*bufio.Reader, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, resp.StatusCode)
	}
	return bufio.NewReader(resp.Body), cancel
}

func next(t *testing.T, r *bufio.Reader) line {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%v after %q", err, text)
	}
	var l line
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// Results come as items finish, also when the client's own times are long over, and go
// on where another stream was cut.
func TestFollow(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b", "c")
	r, cut := open(t, s, "/v1/jobs/"+id+"/results", "Triptych-Timeout-Ms", "60000")
	s.Decide(id, 2, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	first := next(t, r)
	if first.Item != 2 {
		t.Errorf("%+v", first)
	}
	cut()
	s.Decide(id, 0, pb.Outcome_OUTCOME_FAILED)
	r, _ = open(t, s, "/v1/jobs/"+id+"/results?cursor="+first.Cursor)
	if l := next(t, r); l.Item != 0 {
		t.Errorf("%+v", l)
	}
	s.Decide(id, 1, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	if l := next(t, r); l.Item != 1 {
		t.Errorf("%+v", l)
	}
	if l := next(t, r); l.End != "done" {
		t.Errorf("%+v", l)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("more follows: %v", err)
	}
}

// At the gateway's end a stream ends without a last line, and does not hold it up.
func TestFollowEnds(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a")
	results, _ := open(t, s, "/v1/jobs/"+id+"/results")
	events, _ := open(t, s, "/v1/jobs/"+id+"/events")
	parts := s.Jobs.Parts()
	if err := parts[len(parts)-1].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(results); err != nil || len(text) != 0 {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := io.ReadAll(events); err != nil || strings.Contains(string(text), "event: end") {
		t.Errorf("%q, %v", text, err)
	}
}

// When NATS goes while results are read, they are cut, and go on later.
func TestFollowCut(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b")
	r, _ := open(t, s, "/v1/jobs/"+id+"/results")
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	first := next(t, r)
	s.Cut()
	text, _ := io.ReadAll(r)
	if strings.Contains(string(text), `"end"`) {
		t.Errorf("%s", text)
	}
	s.Mend()
	s.Decide(id, 1, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	r, _ = open(t, s, "/v1/jobs/"+id+"/results?cursor="+first.Cursor)
	if l := next(t, r); l.Item != 1 {
		t.Errorf("%+v", l)
	}
	if l := next(t, r); l.End != "done" {
		t.Errorf("%+v", l)
	}
}

// A reader to whom nothing comes, although there is something, is replaced: its
// request may have been lost with a server.
func TestFollowStalled(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b")
	verdicts, err := s.Store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]bool{} // the board's
	for name := range verdicts.ConsumerNames(t.Context()).Name() {
		before[name] = true
	}
	r, _ := open(t, s, "/v1/jobs/"+id+"/results")
	for name := range verdicts.ConsumerNames(t.Context()).Name() {
		if before[name] {
			continue
		}
		if _, err := verdicts.PauseConsumer(t.Context(), name, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		before[name] = false
	}
	s.Decide(id, 1, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	for _, want := range []uint32{1, 0} {
		if l := next(t, r); l.Item != want {
			t.Errorf("%+v", l)
		}
	}
	if l := next(t, r); l.End != "done" {
		t.Errorf("%+v", l)
	}
}

// Outputs of models that classify nothing are tensors; what JSON can't hold is base64.
func TestOutputs(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b")
	large := make([]byte, 2<<20)
	for i, data := range [][]byte{{0, 0, 192, 127, 0, 0, 128, 63}, large} { // NaN and 1
		s.Decide(id, uint32(i), pb.Outcome_OUTCOME_SUCCEEDED, func(v *pb.Verdict) {
			v.Response = &inference.ModelInferResponse{}
			oip.AddOutput(v.Response, oip.Tensor{Name: "OUT", Datatype: "FP32", Shape: []int64{int64(len(data) / 4)}, Data: data})
			oip.AddOutput(v.Response, oip.Tensor{Name: "TEXT", Datatype: "BYTES", Shape: []int64{1}, Data: oip.JoinStrings("\xff\x00")})
		})
	}
	got := lines(t, s.Get("/v1/jobs/"+id+"/results?follow=false"))
	first := got[0].Outputs
	if d := first[0]["data"].([]any); d[0] != "AADAfwAAgD8=" || first[0]["datatype"] != "BYTES" {
		t.Errorf("NaN is %v", first[0])
	}
	if d := first[1]["data"].([]any); d[0] != "/wA=" || first[1]["parameters"].(map[string]any)["content_type"] != "base64" {
		t.Errorf("octets are %v", first[1])
	}
	if d := got[1].Outputs[0]["data"].([]any); len(d) != len(large)/4 {
		t.Errorf("%d values of the answer that lies in the object store", len(d))
	}
}

// nobody is an id of a job that there is not.
const nobody = "01890a5d-ac96-774b-bcce-b302099a8057"

// Names that no job can have, and models that no list can be asked for, are not taken
// to the store.
func TestWrongNames(t *testing.T) {
	s := jobstest.Start(t)
	long := strings.Repeat("n", 5000)
	for _, id := range []string{"x", "a*b", "a.b", long, "{" + nobody[1:], nobody + "0", "g" + nobody[1:]} {
		for _, path := range []string{"/v1/jobs/" + id, "/v1/jobs/" + id + "/results", "/v1/jobs/" + id + "/events", "/v1/dead-letters/" + id + "/0", "/v1/dead-letters?job=" + id} {
			if a := s.Get(path); a.Status != http.StatusNotFound || !strings.HasPrefix(a.Failure().Error, "unknown job ") {
				t.Errorf("%.80s: %d %.300s", path, a.Status, a.Body)
			}
		}
		for path, method := range map[string]string{
			"/v1/jobs/" + id: http.MethodDelete, "/v1/dead-letters/" + id + "/0": http.MethodDelete, "/v1/dead-letters/" + id + "/0/requeue": http.MethodPost,
			"/v1/dead-letters/requeue?job=" + id: http.MethodPost, "/v1/dead-letters?job=" + id: http.MethodDelete,
		} {
			if a := s.Do(method, path, http.NoBody); a.Status != http.StatusNotFound {
				t.Errorf("%s %.80s: %d %.300s", method, path, a.Status, a.Body)
			}
		}
	}
	for _, path := range []string{"/v1/jobs?model=", "/v1/dead-letters?model="} {
		if a := s.Get(path + long[:256]); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		if a := s.Get(path + long[:257]); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

func TestWrongResults(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a")
	for path, status := range map[string]int{
		"/v1/jobs/absent/results": 404, "/v1/jobs/absent/events": 404, "/v1/jobs/absent": 404, "/v1/jobs/a*b": 404, "/v1/jobs/%2e%2e": 404, "/v1/jobs/" + nobody: 404, "/v1/jobs/" + nobody + "/results": 404, "/v1/jobs/" + nobody + "/events": 404,
		"/v1/jobs/" + id + "/results?cursor=x": 400, "/v1/jobs/" + id + "/results?follow=x": 400, "/v1/jobs/" + id + "/results?outcome=x": 400,
		"/v1/jobs/" + id + "/results?outcome=requeued": 400, "/v1/jobs?limit=0": 400, "/v1/jobs?cursor=x": 400, "/v1/jobs?state=x": 400, "/v1/jobs?limt=3": 400,
		"/v1/jobs/" + id + "/results?folow=false": 400, "/v1/dead-letters?jobs=" + id: 400, "/v1/jobs?a;b": 400,
		"/v1/jobs/" + id + "?x=1": 400, "/v1/jobs/" + id + "/events?cursor=5": 400, "/v1/dead-letters/" + id + "/0?x=1": 400,
		"/v1/dead-letters?limit=x": 400, "/v1/dead-letters?cursor=x": 400, "/v1/dead-letters?job=*": 404, "/v1/dead-letters/" + id + "/0": 404, "/v1/dead-letters/" + id + "/x": 404,
	} {
		if a := s.Get(path); a.Status != status || a.Failure().Error == "" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodPut, "/v1/jobs", 405},
		{http.MethodHead, "/v1/jobs", 405},
		{http.MethodPost, "/v1/jobs/" + id, 405},
		{http.MethodDelete, "/v1/jobs/" + nobody, 404},
		{http.MethodPost, "/v1/dead-letters/requeue", 400},
		{http.MethodPost, "/v1/dead-letters/requeue?jb=" + id + "&all=true", 400},
		{http.MethodDelete, "/v1/dead-letters?jb=" + id + "&all=true", 400},
		{http.MethodDelete, "/v1/jobs/" + id + "?dry_run=true", 400},
		{http.MethodDelete, "/v1/dead-letters/" + id + "/0?job=x", 400},
		{http.MethodPost, "/v1/dead-letters/" + id + "/0/requeue?x=1", 400},
		{http.MethodDelete, "/v1/dead-letters", 400},
		{http.MethodPost, "/v1/dead-letters/" + id + "/0/requeue", 404},
		{http.MethodDelete, "/v1/dead-letters/" + id + "/0", 404},
		{http.MethodPost, "/v1/dead-letters/" + nobody + "/0/requeue", 404},
	} {
		if a := s.Do(c.method, c.path, http.NoBody); a.Status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.Status, a.Body)
		}
	}
}

// event is a server-sent event.
type event struct {
	name, id string
	doc      jobstest.Document
}

func nextEvent(t *testing.T, r *bufio.Reader) event {
	t.Helper()
	var e event
	for {
		text, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.doc); err != nil {
				t.Fatal(err)
			}
		case "":
			if e.name != "" {
				return e
			}
		}
	}
}

func TestEvents(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b")
	r, _ := open(t, s, "/v1/jobs/"+id+"/events")
	first := nextEvent(t, r)
	if first.name != "progress" || first.doc.Counts["pending"] != 2 || first.doc.ID != id {
		t.Errorf("%+v", first)
	}
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	second := nextEvent(t, r)
	for second.doc.Counts["succeeded"] == 0 {
		second = nextEvent(t, r)
	}
	if second.doc.Counts["pending"] != 1 || second.id == first.id {
		t.Errorf("%+v", second)
	}
	again, _ := open(t, s, "/v1/jobs/"+id+"/events", "Last-Event-ID", second.id)
	s.Decide(id, 1, pb.Outcome_OUTCOME_FAILED)
	for _, r := range []*bufio.Reader{r, again} {
		begin := time.Now()
		last := nextEvent(t, r)
		for last.name == "progress" {
			if last.id == second.id {
				t.Errorf("what was known is told again: %+v", last)
			}
			last = nextEvent(t, r)
		}
		if last.name != "end" || last.doc.State != "done" || last.doc.Counts["failed"] != 1 || time.Since(begin) > 10*time.Second {
			t.Errorf("%+v", last)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("more follows: %v", err)
		}
	}
	over, _ := open(t, s, "/v1/jobs/"+id+"/events")
	if e := nextEvent(t, over); e.name != "end" {
		t.Errorf("%+v", e)
	}
}
