package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/cli"
	"triptych/cli/traces"
	"triptych/shared/testkit"
)

// gateway is a gateway that answers what a test wants, and a place for traces.
func gateway(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/classify", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if string(body) != "an image" {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			_, _ = io.WriteString(w, `{"error":"this is not an image","code":"UNSUPPORTED_MEDIA"}`)
			return
		}
		_, _ = io.WriteString(w, `{"model":{"name":"`+r.URL.Query().Get("model")+`","version":"1"},"results":[{"predictions":[
			{"label":"tiger cat","score":0.75,"class":282},{"label":"tabby","score":0.125,"class":281}]}],"trace_id":"abc","timings_ms":{"total":12.34}}`)
	})
	mux.HandleFunc("POST /v2/repository/index", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"name":"classify","version":"1","state":"READY"},{"name":"odd","state":"UNAVAILABLE","reason":"odd/config.pbtxt:1:1: no"}]`)
	})
	mux.HandleFunc("GET /api/traces/abc", func(w http.ResponseWriter, _ *http.Request) {
		answer := traces.Answer{Data: []traces.Trace{{
			TraceID: "abc", Processes: map[string]traces.Process{"gateway": {ServiceName: "gateway"}},
			Spans: []traces.Span{{TraceID: "abc", SpanID: "1", OperationName: "POST /v1/classify", Duration: 12340, ProcessID: "gateway"}},
		}}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.Close(); http.DefaultClient.CloseIdleConnections() })
	return server.URL
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run gives the exit status and both outputs of a command.
func run(t *testing.T, environ []string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	status = cli.Execute(t.Context(), args, environ, cli.Streams{Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func TestClassify(t *testing.T) {
	server := gateway(t)
	good, bad := file(t, "cat.jpg", "an image"), file(t, "notes.txt", "text")
	bar := strings.Repeat("█", 40)
	for name, tt := range map[string]struct {
		args   []string
		status int
		out    string
		errs   string
	}{
		"a table and a trace": {
			[]string{"--traces", server, good},
			0,
			"IMAGE    LABEL      SCORE   CLASS  MS\n" +
				"cat.jpg  tiger cat  0.7500  282    12.3\n" +
				"         tabby      0.1250  281\n\n" +
				"trace abc   1 spans, 1 services,    12.34 ms\n" +
				"POST /v1/classify gateway      " + bar + "    12.34 ms\n", "",
		},
		"no trace": {
			[]string{"--trace=false", good},
			0,
			"IMAGE    LABEL      SCORE   CLASS  MS\ncat.jpg  tiger cat  0.7500  282    12.3\n         tabby      0.1250  281\n", "",
		},
		"one bad file": {
			[]string{"--trace=false", bad, good},
			1,
			"IMAGE      LABEL                                              SCORE   CLASS  MS\n" +
				"notes.txt  this is not an image (415 Unsupported Media Type)\n" +
				"cat.jpg    tiger cat                                          0.7500  282    12.3\n" +
				"           tabby                                              0.1250  281\n",
			"triptych: 1 of 2 images were not classified\n",
		},
		"no such file": {
			[]string{"--trace=false", "absent.jpg"},
			1,
			"IMAGE       LABEL                                     SCORE  CLASS  MS\nabsent.jpg  can't be read: no such file or directory\n",
			"triptych: 1 of 1 images were not classified\n",
		},
		"a wrong form": {[]string{"--output", "xml", good}, 1, "", "triptych: --output is \"xml\", must be text or json\n"},
		"no files":     {nil, 2, "", "triptych: requires at least 1 arg(s), only received 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := run(t, nil, append([]string{"classify", "--server", server}, tt.args...)...)
			if status != tt.status || out != tt.out || errs != tt.errs {
				t.Errorf("status %d, output\n%s\nerrors %q\nwant %d\n%s\n%q", status, out, errs, tt.status, tt.out, tt.errs)
			}
		})
	}
}

func TestClassifyJSON(t *testing.T) {
	server := gateway(t)
	status, out, _ := run(t, []string{"TRIPTYCH_SERVER=" + server, "TRIPTYCH_MODEL=other"}, "classify", "--output", "json", file(t, "cat.jpg", "an image"))
	var got []struct {
		Answer struct {
			Model struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	if got[0].Answer.Model.Name != "other" {
		t.Errorf("the model is %q, want the one of the environment", got[0].Answer.Model.Name)
	}
}

func TestModels(t *testing.T) {
	status, out, errs := run(t, nil, "models", "--server", gateway(t))
	want := "MODEL     VERSION  STATE        REASON\nclassify  1        READY\nodd                UNAVAILABLE  odd/config.pbtxt:1:1: no\n"
	if status != 0 || out != want || errs != "" {
		t.Errorf("status %d\n%s%s\nwant\n%s", status, out, errs, want)
	}
}

func TestNobodyThere(t *testing.T) {
	status, _, errs := run(t, nil, "models", "--server", "http://127.0.0.1:1")
	want := "triptych: no gateway answers at http://127.0.0.1:1 (start one with: triptych up)\n"
	if status != 1 || errs != want {
		t.Errorf("status %d, %q, want 1, %q", status, errs, want)
	}
}

func TestClassifyWithoutLabels(t *testing.T) {
	for _, top := range []string{"0", "1001"} {
		status, out, errs := run(t, nil, "classify", "--top", top, "a.jpg")
		if want := "triptych: --top is " + top + ", must be from 1 to 1000\n"; status != 1 || out != "" || errs != want {
			t.Errorf("status %d, %q, %q, want 1 and %q", status, out, errs, want)
		}
	}
}

func TestWrongCalls(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":    {"models", "--nope"},
		"unknown command": {"nope"},
		"words for up":    {"up", "now"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, errs := run(t, nil, args...); status != 2 || errs == "" {
				t.Errorf("status %d, %q, want 2 and a message", status, errs)
			}
		})
	}
}

func TestUpRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		environ []string
		args    []string
		want    string
	}{
		"no repository":  {nil, []string{"--model-repository", "absent"}, `triptych: model repository "absent" can't be read` + "\n"},
		"no library":     {[]string{"TRIPTYCH_ONNXRUNTIME=/nope"}, []string{"--model-repository", testkit.Path(t, "models")}, "triptych: --onnxruntime: there is no file /nope: run \"make setup\""},
		"a wrong device": {[]string{"TRIPTYCH_DEVICE=tpu"}, nil, "triptych: --device"},
		"a wrong level":  {nil, []string{"--log-level", "loud"}, `triptych: --log-level is "loud", must be debug, info, warn or error` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, errs := run(t, tt.environ, append([]string{"up"}, tt.args...)...)
			if status != 1 || !strings.Contains(errs, tt.want) {
				t.Errorf("status %d, %q, want 1 and %q", status, errs, tt.want)
			}
		})
	}
}

func TestVersionAndCompletion(t *testing.T) {
	if status, out, _ := run(t, nil, "version"); status != 0 || !strings.HasPrefix(out, "triptych ") {
		t.Errorf("version: %d %q", status, out)
	}
	if status, out, _ := run(t, nil, "completion", "bash"); status != 0 || !strings.Contains(out, "triptych") {
		t.Errorf("completion: status %d, %d bytes", status, len(out))
	}
}
