package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"triptych/gateway/internal/fronttest"
	"triptych/gateway/jobs/jobstest"
	"triptych/proto/inference"
	pb "triptych/proto/jobs"
	"triptych/shared/oip"
	"triptych/shared/stream"
)

// answered makes a verdict that of a classifier.
func answered(v *pb.Verdict) {
	v.Response = &inference.ModelInferResponse{}
	oip.AddOutput(v.Response, oip.Tensor{Name: "LABEL", Datatype: "BYTES", Shape: []int64{1, 1}, Data: oip.JoinStrings("cat")})
	oip.AddOutput(v.Response, oip.Tensor{Name: "SCORE", Datatype: "FP32", Shape: []int64{1, 1}, Data: []byte{0, 0, 0, 63}})
	oip.AddOutput(v.Response, oip.Tensor{Name: "CLASS", Datatype: "INT32", Shape: []int64{1, 1}, Data: []byte{7, 0, 0, 0}})
	v.Times = []*pb.StepTime{{Model: "net", WaitedUs: 1001, QueueUs: 2000, ComputeUs: 3000}}
}

type line struct {
	Cursor, Name, State, Step, End string
	Item                           uint32
	Predictions                    []map[string]any
	Outputs                        []map[string]any
	Error                          map[string]string
	Timings                        map[string]float64 `json:"timings_ms"`
	Attempts                       uint32
}

func lines(t *testing.T, a fronttest.Answer) []line {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d: %s", a.Status, a.Body)
	}
	var all []line
	for text := range strings.SplitSeq(strings.TrimSpace(string(a.Body)), "\n") {
		if text == "" {
			continue
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		all = append(all, l)
	}
	return all
}

func TestResults(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a", "b", "c")
	s.Decide(id, 1, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	got := lines(t, s.Get("/v1/jobs/"+id+"/results?follow=false"))
	if len(got) != 1 || got[0].Item != 1 || got[0].State != "succeeded" || got[0].Predictions[0]["label"] != "cat" || got[0].Timings["waited"] != 1.001 || got[0].Timings["total"] != 6.001 || got[0].End != "" {
		t.Errorf("%+v", got)
	}
	s.Decide(id, 0, pb.Outcome_OUTCOME_FAILED, func(v *pb.Verdict) {
		v.Error, v.Step = &pb.Error{Kind: "BROKEN_IMAGE", Message: "cut"}, "pre"
	})
	got = lines(t, s.Get("/v1/jobs/"+id+"/results?follow=false&cursor="+got[0].Cursor))
	if len(got) != 1 || got[0].Item != 0 || got[0].Error["code"] != "BROKEN_IMAGE" || got[0].Step != "pre" {
		t.Errorf("%+v", got)
	}
	s.Decide(id, 2, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	s.Finish(id, &pb.Counts{Succeeded: 2, Failed: 1})
	got = lines(t, s.Get("/v1/jobs/"+id+"/results"))
	if len(got) != 4 || got[3].End != "done" || got[3].Cursor != got[2].Cursor {
		t.Errorf("%+v", got)
	}
	if got = lines(t, s.Get("/v1/jobs/"+id+"/results?outcome=failed")); len(got) != 2 || got[0].State != "failed" || got[1].End != "done" {
		t.Errorf("%+v", got)
	}
}

// Nobody who has read results leaves anything in the server.
func TestResultsLeaveNothing(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a")
	s.Decide(id, 0, pb.Outcome_OUTCOME_SUCCEEDED, answered)
	s.Finish(id, &pb.Counts{Succeeded: 1})
	verdicts, err := s.Store.Connection().JetStream().Stream(t.Context(), stream.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	before := verdicts.CachedInfo().State.Consumers // the board's
	for range 50 {
		if got := lines(t, s.Get("/v1/jobs/"+id+"/results")); len(got) != 2 {
			t.Fatalf("%+v", got)
		}
	}
	info, err := verdicts.Info(t.Context())
	if err != nil || info.State.Consumers > before {
		t.Errorf("%d consumers for %d: %v", info.State.Consumers, before, err)
	}
}

func TestCursors(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("a")
	for cursor, want := range map[string]int{"0": 200, "": 200, "1": 400, "99999999999": 400, "18446744073709551615": 400, "-1": 400, "x": 400} {
		if a := s.Get("/v1/jobs/" + id + "/results?follow=false&cursor=" + cursor); a.Status != want {
			t.Errorf("cursor %q: %d %s", cursor, a.Status, a.Body)
		}
	}
}
