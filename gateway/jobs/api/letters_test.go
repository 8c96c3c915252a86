package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"triptych/gateway/internal/fronttest"
	"triptych/gateway/jobs/jobstest"
	pb "triptych/proto/jobs"
	"triptych/shared/testkit"
)

type letter struct {
	Job, Name, Model, Step, Time string
	Item, Attempts               uint32
	TraceID                      string `json:"trace_id"`
	Reason                       map[string]string
}

// letters reads all pages of a list of dead letters.
func letters(t *testing.T, s *jobstest.Server, query string) []letter {
	t.Helper()
	var all []letter
	for cursor := ""; ; {
		a := s.Get("/v1/dead-letters?" + query + "&cursor=" + cursor)
		var doc struct {
			Letters []letter `json:"dead_letters"`
			Next    string
		}
		if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		all = append(all, doc.Letters...)
		if cursor = doc.Next; cursor == "" {
			return all
		}
	}
}

// bury gives items of a job up.
func bury(s *jobstest.Server, id, step string, items ...uint32) {
	for _, item := range items {
		s.Decide(id, item, pb.Outcome_OUTCOME_DEAD, func(v *pb.Verdict) {
			v.Step, v.Name, v.TraceId, v.Attempts, v.Error = step, "x.jpg", "abc", 5, &pb.Error{Kind: "INTERNAL", Message: "it broke"}
		})
	}
}

func count(t *testing.T, a fronttest.Answer, what string) int {
	t.Helper()
	var doc map[string]int
	if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return doc[what]
}

func state(t *testing.T, s *jobstest.Server, id, want string) jobstest.Document {
	t.Helper()
	var doc jobstest.Document
	testkit.Eventually(t, 20*time.Second, "the job to be "+want, func() bool {
		doc = s.Job(s.Get("/v1/jobs/"+id), http.StatusOK)
		return doc.State == want
	})
	return doc
}

func TestLetters(t *testing.T) {
	s := jobstest.Start(t)
	one, two := s.Create("a", "b", "c"), s.Create("a", "b")
	bury(s, one, "net", 0, 2)
	bury(s, two, "pre", 1)
	got := letters(t, s, "limit=2")
	if len(got) != 3 || got[0].Job != one || got[0].Model != "classify" || got[0].Step != "net" || got[0].Reason["code"] != "INTERNAL" || got[0].Attempts != 5 || got[0].TraceID != "abc" || got[0].Time == "" || got[0].Name != "x.jpg" {
		t.Errorf("%+v", got)
	}
	for query, want := range map[string]int{"job=" + one: 2, "job=" + two: 1, "job=" + nobody: 0, "model=pre": 1, "model=classify": 3, "model=net&job=" + two: 0, "limit=1": 3} {
		if got := letters(t, s, query); len(got) != want {
			t.Errorf("%s: %+v", query, got)
		}
	}
	if a := s.Get("/v1/dead-letters/" + one + "/2"); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if n := count(t, s.Do(http.MethodDelete, "/v1/dead-letters/"+one+"/2", http.NoBody), "purged"); n != 1 {
		t.Errorf("%d", n)
	}
	if a := s.Get("/v1/dead-letters/" + one + "/2"); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if n := count(t, s.Do(http.MethodDelete, "/v1/dead-letters?model=pre", http.NoBody), "purged"); n != 1 || len(letters(t, s, "")) != 1 {
		t.Errorf("%d are purged", n)
	}
	if n := count(t, s.Do(http.MethodDelete, "/v1/dead-letters?all=true", http.NoBody), "purged"); n != 1 || len(letters(t, s, "")) != 0 {
		t.Errorf("%d are purged", n)
	}
}

// A dead item that is put back gets another verdict, also when its job had ended.
func TestRequeue(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b", "c")
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	bury(s, id, "net", 1, 2)
	ended := state(t, s, id, "done")
	if ended.Counts["dead"] != 2 || ended.Counts["succeeded"] != 1 {
		t.Errorf("%+v", ended)
	}
	if n := count(t, s.Post("/v1/dead-letters/"+id+"/1/requeue", nil), "requeued"); n != 1 {
		t.Errorf("%d", n)
	}
	open := state(t, s, id, "running")
	if open.Ended != "" || open.Deadline < ended.Deadline {
		t.Errorf("%+v", open)
	}
	testkit.Eventually(t, 10*time.Second, "one item to be pending", func() bool {
		c := s.Job(s.Get("/v1/jobs/"+id), http.StatusOK).Counts
		return c["pending"] == 1 && c["dead"] == 1
	})
	if a := s.Post("/v1/dead-letters/"+id+"/1/requeue", nil); a.Status != http.StatusNotFound {
		t.Errorf("twice: %d %s", a.Status, a.Body)
	}
	if n := count(t, s.Post("/v1/dead-letters/requeue?job="+id, nil), "requeued"); n != 1 || len(letters(t, s, "")) != 0 {
		t.Errorf("%d", n)
	}
	for _, item := range []uint32{1, 2} {
		v, sequence, err := s.Store.Verdict(t.Context(), id, item)
		if err != nil || v.GetOutcome() != pb.Outcome_OUTCOME_REQUEUED {
			t.Fatalf("%v %v", v, err)
		}
		if won, err := s.Store.Decide(t.Context(), &pb.Verdict{Job: id, Item: item, Outcome: pb.Outcome_OUTCOME_SUCCEEDED, Started: 2}, sequence); err != nil || !won {
			t.Fatal(err)
		}
	}
	if again := state(t, s, id, "done"); again.Counts["succeeded"] != 3 || again.Counts["dead"] != 0 {
		t.Errorf("%+v", again)
	}
	got := lines(t, s.Get("/v1/jobs/"+id+"/results"))
	if len(got) != 4 || got[0].State != "succeeded" || got[2].State != "succeeded" || got[3].End != "done" {
		t.Errorf("%+v", got)
	}
}

// An item of a job that is being cancelled is not put back.
func TestRequeueWhileCancelling(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b")
	bury(s, id, "net", 0)
	if _, err := s.Store.Update(t.Context(), id, func(j *pb.Job) error { j.State = pb.State_STATE_CANCELLING; return nil }); err != nil {
		t.Fatal(err)
	}
	if a := s.Post("/v1/dead-letters/"+id+"/0/requeue", nil); a.Status != http.StatusConflict && a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	state(t, s, id, "cancelled")
}
