package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// trace is Jaeger's answer: SPAN PARENT PROCESS NAME a line.
func trace(lines string) string {
	var spans []string
	for line := range strings.Lines(lines) {
		field := strings.SplitN(strings.TrimSpace(line), " ", 4)
		references := ""
		if field[1] != "-" {
			references = fmt.Sprintf(`{"refType": "CHILD_OF", "traceID": "t", "spanID": %q}`, field[1])
		}
		spans = append(spans, fmt.Sprintf(
			`{"spanID": %q, "operationName": %q, "processID": %q, "references": [%s]}`,
			field[0], field[3], field[2], references))
	}
	return fmt.Sprintf(`{"data": [{"spans": [%s], "processes": {"g": {"serviceName": "gateway"},
		"a": {"serviceName": "preprocess"}, "b": {"serviceName": "predictor"}, "c": {"serviceName": "postprocess"}}}]}`,
		strings.Join(spans, ","))
}

// linked links a span below a parent to another.
func linked(body, id, parent, to string) string {
	before, after, _ := strings.Cut(body, fmt.Sprintf(`{"spanID": %q`, id))
	child := fmt.Sprintf(`{"refType": "CHILD_OF", "traceID": "t", "spanID": %q}`, parent)
	link := fmt.Sprintf(`{"refType": "FOLLOWS_FROM", "traceID": "t", "spanID": %q}`, to)
	return before + fmt.Sprintf(`{"spanID": %q`, id) + strings.Replace(after, child, child+", "+link, 1)
}

const whole = `1 - g POST /v1/classify
2 1 g ensemble classify
3 2 g step imagenet_preprocess
4 3 a inference.GRPCInferenceService/ModelInfer
5 4 a decode
6 4 a transform
7 2 g step efficientnet_lite0
8 7 b inference.GRPCInferenceService/ModelInfer
9 8 b queue
10 8 b run
11 2 g step imagenet_postprocess
12 11 c inference.GRPCInferenceService/ModelInfer
13 12 c top_k`

const wholeItem = `1 - g job item
2 1 a process imagenet_preprocess
3 2 a decode
4 2 a transform
5 1 b process efficientnet_lite0
6 5 b queue
7 5 b run
8 1 c process imagenet_postprocess
9 8 c top_k`

func TestRun(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		output     string
	}{
		{"classify whole", trace(whole), 0, "13 spans"},
		{"classify span missing", trace(strings.ReplaceAll(whole, "queue", "wait")), 1, `no span "queue" of predictor below`},
		{"classify wrong parent", trace(strings.ReplaceAll(whole, "6 4 a", "6 3 a")), 1, `no span "transform" of preprocess below`},
		{"classify wrong service", trace(strings.ReplaceAll(whole, "13 12 c", "13 12 g")), 1, `no span "top_k" of postprocess below`},
		{"classify parent unknown", trace(strings.ReplaceAll(whole, "2 1 g", "2 99 g")), 1, `no span "ensemble classify" of gateway`},
		{"classify no trace", `{"data": []}`, 1, "0 traces"},
		{"classify not JSON", `<html>`, 1, "read trace"},
		{"job whole", trace(wholeItem), 0, "9 spans"},
		{"job step missing", trace(strings.ReplaceAll(wholeItem, "8 1 c", "8 5 c")), 1, `no span "process imagenet_postprocess" of postprocess below`},
		{"job linked to its parent alone", strings.Replace(trace(wholeItem), "CHILD_OF", "FOLLOWS_FROM", 1), 1, "linked to itself or to its parent"},
		{"job linked to its parent", linked(trace(wholeItem), "4", "2", "2"), 1, `span "transform" of preprocess is linked to itself or to its parent`},
		{"job linked to itself", linked(trace(wholeItem), "4", "2", "4"), 1, `span "transform" of preprocess is linked to itself or to its parent`},
		{"job linked to another", linked(trace(wholeItem), "5", "1", "2"), 0, "9 spans"},
		{"job of a classification", trace(whole), 1, `no span "job item" of gateway`},
		{"unknown tree", trace(whole), 2, `no tree "unknown"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			var output bytes.Buffer
			args := []string{"-jaeger", server.URL, "-wait", "50ms", "-tree", strings.Fields(test.name)[0], "t"}
			if status := run(t.Context(), args, &output, &output); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if !strings.Contains(output.String(), test.output) {
				t.Errorf("output has no %q:\n%s", test.output, &output)
			}
		})
	}
}

func TestRunWithoutID(t *testing.T) {
	var output bytes.Buffer
	if status := run(t.Context(), nil, &output, &output); status != 2 {
		t.Errorf("status %d, want 2", status)
	}
}
