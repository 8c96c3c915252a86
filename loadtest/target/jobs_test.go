package target_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/shared/failure"
)

// judge wants the name of the image, cat for 0 and dog for 1.
func judge(n int, labels []string) error {
	if want := []string{"cat", "dog"}[n]; len(labels) == 0 || labels[0] != want {
		return &measure.Fault{Kind: measure.WrongAnswer, Message: "want " + want}
	}
	return nil
}

func jobs(t *testing.T, url string, items int) target.Target {
	t.Helper()
	o := target.Options{Protocol: target.Classify, URL: url, Model: targettest.Model, Version: "3", Priority: 1, Timeout: time.Minute, Tenant: "shop"}
	made, err := target.NewJobs(o, images, items, judge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

func TestJobs(t *testing.T) {
	server := targettest.Start(t, byName)
	d := jobs(t, server.URL, 3)
	for range 3 { // a job begins where the last one ended
		answer, err := d.Do(t.Context(), 0)
		if err != nil || answer.Items != 3 || answer.Sent < 3*len("cat picture") {
			t.Errorf("%+v, error %v", answer, err)
		}
	}
	if diff := cmp.Diff(targettest.Call{Version: "3", Priority: "1", Timeout: "1m0s", Tenant: "shop"}, server.Last()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobsThatFail(t *testing.T) {
	swapped := func(image []byte) ([]string, error) {
		if bytes.HasPrefix(image, []byte("cat")) {
			return []string{"dog"}, nil
		}
		return byName(image)
	}
	broken := func(image []byte) ([]string, error) {
		if bytes.HasPrefix(image, []byte("cat")) {
			return nil, failure.New(failure.BrokenImage, "truncated")
		}
		return byName(image)
	}
	for name, tt := range map[string]struct {
		classify targettest.Classify
		want     measure.Fault
	}{
		"wrong labels": {swapped, measure.Fault{Kind: measure.WrongAnswer, Message: "want cat"}},
		"failed items": {broken, measure.Fault{Kind: target.JobFault, Message: "2 of 4, such as: failed truncated"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobs(t, targettest.Start(t, tt.classify).URL, 4).Do(t.Context(), 0)
			if err == nil || measure.FaultOf(err) != tt.want {
				t.Errorf("error = %v, want %+v", err, tt.want)
			}
		})
	}
}

// A server that answers jobs as no good one does.
func TestJobsThatAreNotAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		submit        int
		results, kind string
		message       string
	}{
		"refused":      {http.StatusTooManyRequests, "", "HTTP 429 BUSY", "full"},
		"missing":      {http.StatusAccepted, `{"item":0,"state":"succeeded","predictions":[{"label":"cat"}]}` + "\n" + `{"end":"done"}`, measure.BadAnswer, "1 of 2 items have no verdict"},
		"twice":        {http.StatusAccepted, `{"item":0,"state":"dead"}` + "\n" + `{"item":0,"state":"dead"}` + "\n" + `{"end":"done"}`, measure.BadAnswer, "item 0 has two verdicts"},
		"unknown item": {http.StatusAccepted, `{"item":9,"state":"dead"}` + "\n" + `{"end":"done"}`, measure.BadAnswer, "no item 9"},
		"cut":          {http.StatusAccepted, `{"item":0,"state":"dead"}`, measure.Connection, "without a last line"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					w.WriteHeader(tt.submit)
					_, _ = w.Write([]byte(`{"id":"j","error":"full","code":"BUSY"}`))
					return
				}
				_, _ = w.Write([]byte(tt.results + "\n"))
			}))
			defer server.Close()
			_, err := jobs(t, server.URL, 2).Do(t.Context(), 0)
			if f := measure.FaultOf(err); f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) {
				t.Errorf("error = %v, want %s: %s", err, tt.kind, tt.message)
			}
		})
	}
}

func TestJobsNeedHTTP(t *testing.T) {
	if _, err := target.NewJobs(target.Options{Protocol: target.GRPC}, images, 1, nil); failure.KindOf(err) != failure.Invalid {
		t.Errorf("error = %v", err)
	}
}
