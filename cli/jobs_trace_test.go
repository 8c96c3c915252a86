package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triptych/cli/traces"
)

func TestTrace(t *testing.T) {
	f := submitted(t, "a.jpg")
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := traces.Span{TraceID: "t", SpanID: "s", OperationName: "job item", Duration: 2000, ProcessID: "p"}
		answer := traces.Answer{Data: []traces.Trace{{TraceID: "t", Spans: []traces.Span{span}, Processes: map[string]traces.Process{"p": {ServiceName: "gateway"}}}}}
		if !strings.HasSuffix(r.URL.Path, "/api/traces/t") {
			answer.Data = nil
		}
		say(w, http.StatusOK, answer)
	}))
	defer sink.Close()
	for name, tt := range map[string]struct {
		args   []string
		status int
		out    string
		errs   string
	}{
		"the first":   {[]string{"job1"}, 0, "trace t   1 spans, 1 services,     2.00 ms\njob item gateway", ""},
		"by number":   {[]string{"job1", "0"}, 0, "trace t ", ""},
		"JSON":        {[]string{"job1", "--output", "json"}, 0, `{"traceID":"t","spans":[`, ""},
		"no result":   {[]string{"job1", "7"}, 1, "", "triptych: item 7 of job job1 has no result, which would name its trace\n"},
		"no number":   {[]string{"job1", "x"}, 1, "", "triptych: \"x\" is not the number of an item\n"},
		"no such job": {[]string{"job9"}, 1, "", "triptych: there is no job \"job9\" (404 Not Found)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := f.run("", append([]string{"jobs", "trace", "--traces", sink.URL}, tt.args...)...)
			if status != tt.status || !strings.HasPrefix(out, tt.out) || errs != tt.errs {
				t.Errorf("status %d, %q, %q", status, out, errs)
			}
		})
	}
}

// TestLettersOfNoJob knows none of a job from a job that there is not.
func TestLettersOfNoJob(t *testing.T) {
	f := submitted(t, "a.jpg")
	nothing := func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		say(w, http.StatusOK, map[string]int{"requeued": 0})
	}
	f.fail("POST /v1/dead-letters/requeue", nothing, nothing)
	if status, out, errs := f.run("", "dlq", "requeue", "--job", "job1"); status != 0 || out != "0 dead letters requeued\n" || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	if status, out, errs := f.run("", "dlq", "requeue", "--job", "job9"); status != 1 || out != "" || errs != "triptych: there is no job \"job9\" (404 Not Found)\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}
