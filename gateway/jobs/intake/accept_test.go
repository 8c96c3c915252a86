package intake_test

import (
	"net/http"
	"testing"

	"triptych/gateway/jobs/jobstest"
	pb "triptych/proto/jobs"
)

// items reads all items of a job out of its pages.
func items(t *testing.T, s *jobstest.Server, id string) []*pb.Item {
	t.Helper()
	job, err := s.Store.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var all []*pb.Item
	for n := range job.GetPages() {
		page, err := s.Store.Page(t.Context(), id, n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.GetItems()...)
	}
	if len(all) != int(job.GetItems()) {
		t.Fatalf("%d items are stored, the record says %d", len(all), job.GetItems())
	}
	return all
}

func TestForm(t *testing.T) {
	s := jobstest.Start(t)
	a := s.Send(jobstest.FormOf(map[string]string{"priority": "high", "name": "mine", "deadline": "90m", "top_k": "3"}, "cat", "", "dog"))
	doc := s.Job(a, http.StatusAccepted)
	if doc.Items != 3 || doc.Priority != 1 || doc.Name != "mine" || doc.State != "running" || doc.Counts["pending"] != 3 || doc.RequestID == "" || doc.TraceID == "" {
		t.Errorf("%+v", doc)
	}
	if got := a.Header.Get("Location"); got != "/v1/jobs/"+doc.ID {
		t.Errorf("Location is %q", got)
	}
	got := items(t, s, doc.ID)
	if string(got[0].GetImage()) != "cat" || got[0].GetName() != "0.jpg" || got[1].GetError().GetKind() != "BROKEN_IMAGE" || string(got[2].GetImage()) != "dog" || got[2].GetIndex() != 2 {
		t.Errorf("items are %v", got)
	}
	job, err := s.Store.Job(t.Context(), doc.ID)
	if err != nil {
		t.Fatal(err)
	}
	if job.GetInput() != "IMAGE" || job.GetParameters()["top_k"].GetInt64Param() != 3 || job.GetDeadlineMs()-job.GetCreatedMs() < 5_399_000 || job.GetDeadlineMs()-job.GetCreatedMs() > 5_401_000 {
		t.Errorf("the record is %v", job)
	}
	if now := s.Job(s.Get("/v1/jobs/"+doc.ID), http.StatusOK); now.ID != doc.ID {
		t.Errorf("%+v", now)
	}
}
