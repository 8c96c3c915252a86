package classify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/gateway/internal/fake"
	"triptych/gateway/internal/fronttest"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func server() *fake.Server {
	return &fake.Server{Models: []fake.Model{
		fake.Classifier("classify"), fake.Classifier("other"), fake.Echo("echo", inference.DataType_TYPE_FP32, 1),
		fake.Echo("texts", inference.DataType_TYPE_STRING, 1), fake.Echo("many", inference.DataType_TYPE_STRING, 7),
	}}
}

// document is the answer as a client reads it.
type document struct {
	Model   map[string]string `json:"model"`
	Results []struct {
		Name        string           `json:"name"`
		Predictions []map[string]any `json:"predictions"`
		Error       map[string]any   `json:"error"`
	} `json:"results"`
	RequestID string             `json:"request_id"`
	TraceID   string             `json:"trace_id"`
	Timings   map[string]float64 `json:"timings_ms"`
}

func read(t *testing.T, a fronttest.Answer) document {
	t.Helper()
	var doc document
	if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d, %v: %s", a.Status, err, a.Body)
	}
	return doc
}

// form writes a form with one file for each pair of a name and a content.
func form(files ...string) ([]byte, string) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(files); i += 2 {
		part, _ := w.CreateFormFile("image", files[i])
		_, _ = io.WriteString(part, files[i+1])
	}
	_ = w.Close()
	return body.Bytes(), w.FormDataContentType()
}

func TestOneImage(t *testing.T) {
	s := fronttest.Start(t, server())
	a := s.Post("/v1/classify?top_k=2", []byte("cat"), "Content-Type", "application/x-www-form-urlencoded", "X-Request-Id", "mine-1")
	doc := read(t, a)
	if d := cmp.Diff(map[string]string{"name": "classify", "version": "1"}, doc.Model); d != "" {
		t.Error(d)
	}
	want := []map[string]any{{"label": "cat", "score": 0.0, "class": 0.0}, {"label": "cat", "score": 0.0, "class": 0.0}}
	if d := cmp.Diff(want, doc.Results[0].Predictions); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(a.Body), `"name":""`) || doc.RequestID != "mine-1" || len(doc.TraceID) != 32 || !strings.Contains(a.Header.Get("Traceparent"), doc.TraceID) {
		t.Errorf("%s %v", a.Body, a.Header)
	}
	total := doc.Timings["total"]
	delete(doc.Timings, "total")
	if d := cmp.Diff(map[string]float64{"preprocess": 10, "queue": 2, "predict": 30, "postprocess": 0.5}, doc.Timings); d != "" || total <= 0 {
		t.Errorf("%s, total %v", d, total)
	}
	if h := a.Header.Get("Server-Timing"); !strings.HasPrefix(h, "pre;dur=10.000, queue;dur=2.000, predict;dur=30.000, post;dur=0.500, total;dur=") {
		t.Error(h)
	}
	if doc := read(t, s.Post("/v1/classify?model=other", []byte("dog"))); doc.Model["name"] != "other" || len(doc.Results[0].Predictions) != 5 {
		t.Errorf("%+v", doc)
	}
}

func TestOneBadImage(t *testing.T) {
	s := fronttest.Start(t, server(), func(c *fronttest.Config) { c.Classify.MaxImage = 100 })
	one := func(content string) (string, []byte) {
		body, kind := form("a.jpg", content)
		return kind, body
	}
	cases := map[string]struct {
		query, content string
		status         int
		says           string
	}{
		"truncated":        {"", "broken", 422, "truncated"},
		"no image":         {"", "text", 415, "not an image"},
		"empty":            {"", "", 422, "empty"},
		"too large":        {"", strings.Repeat("x", 101), 413, "more than 100 bytes"},
		"as large as can":  {"", strings.Repeat("x", 100), 200, ""},
		"a panic":          {"", "boom", 500, "internal error"},
		"predictor down":   {"", "down", 503, "predictor is not available"},
		"top_k 0":          {"?top_k=0", "cat", 400, "top_k"},
		"top_k 1001":       {"?top_k=1001", "cat", 400, "top_k"},
		"top_k a word":     {"?top_k=all", "cat", 400, "top_k"},
		"top_k empty":      {"?top_k=", "cat", 400, "top_k"},
		"unknown name":     {"?topk=3", "cat", 400, `unknown query parameter "topk", there are model, top_k`},
		"unknown model":    {"?model=nothing", "cat", 404, "unknown model"},
		"empty model":      {"?model=", "cat", 400, "empty"},
		"a model of FP32":  {"?model=echo", "cat", 400, "its input is FP32"},
		"a model of texts": {"?model=texts", "cat", 400, "no output LABEL"},
		"a model of many":  {"?model=many", "cat", 400, "not one image"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind, body := one(tc.content)
			for _, a := range []fronttest.Answer{
				s.Post("/v1/classify"+tc.query, []byte(tc.content), "Content-Type", "image/jpeg"),
				s.Post("/v1/classify"+tc.query, body, "Content-Type", kind),
			} {
				if a.Status != tc.status || !strings.Contains(a.Failure().Error, tc.says) {
					t.Errorf("%d %s, want %d with %q", a.Status, a.Body, tc.status, tc.says)
				}
			}
		})
	}
}

func TestForm(t *testing.T) {
	s := fronttest.Start(t, server())
	body, kind := form("cat.jpg", "cat", "bad.jpg", "broken", "empty.jpg", "", "boom.jpg", "boom", "ünïcode ☃.jpg", "dog")
	doc := read(t, s.Post("/v1/classify", body, "Content-Type", kind))
	var got []string
	for _, r := range doc.Results {
		label := any(nil)
		if len(r.Predictions) > 0 {
			label = r.Predictions[0]["label"]
		}
		got = append(got, fmt.Sprint(r.Name, " ", label, " ", r.Error["code"]))
	}
	want := []string{"cat.jpg cat <nil>", "bad.jpg <nil> BROKEN_IMAGE", "empty.jpg <nil> BROKEN_IMAGE", "boom.jpg <nil> INTERNAL", "ünïcode ☃.jpg dog <nil>"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if doc.Timings["predict"] != 30 || doc.Model["version"] != "1" {
		t.Errorf("timings are not those of one image: %v", doc)
	}
	body, kind = form("a", "down", "b", "down")
	if a := s.Post("/v1/classify", body, "Content-Type", kind); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("all met the same fault of ours: %d %s", a.Status, a.Body)
	}
	body, kind = form("a", "broken", "b", "down")
	if a := s.Post("/v1/classify", body, "Content-Type", kind); a.Status != http.StatusOK {
		t.Errorf("one is the file's fault: %d %s", a.Status, a.Body)
	}
}

func TestBadForms(t *testing.T) {
	s := fronttest.Start(t, server(), func(c *fronttest.Config) { c.Classify.MaxFiles = 3 })
	several, kind := form("a", "1", "b", "2", "c", "3", "d", "4")
	none, kindOfNone := form()
	long, kindOfLong := form(strings.Repeat("n", 300), "1")
	cases := map[string]struct {
		body   []byte
		kind   string
		status int
		says   string
	}{
		"no file":       {none, kindOfNone, 400, "no file"},
		"fields only":   {[]byte("--b\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\ncat\r\n--b--\r\n"), "multipart/form-data; boundary=b", 400, "no file"},
		"no boundary":   {several, "multipart/form-data", 400, "boundary"},
		"other bounds":  {several, "multipart/form-data; boundary=other", 400, "not well formed"},
		"too many":      {several, kind, 413, "more than 3 files"},
		"cut short":     {several[:len(several)/2], kind, 400, "not well formed"},
		"empty body":    {nil, kind, 400, "not well formed"},
		"long name":     {long, kindOfLong, 400, "name of a file"},
		"header of 1MB": {[]byte("--b\r\nX-Long: " + strings.Repeat("x", 1<<20) + "\r\nContent-Disposition: form-data; name=\"i\"; filename=\"a\"\r\n\r\ncat\r\n--b--\r\n"), "multipart/form-data; boundary=b", 200, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Post("/v1/classify", tc.body, "Content-Type", tc.kind)
			if a.Status != tc.status || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want %d with %q", a.Status, a.Body, tc.status, tc.says)
			}
		})
	}
}

// TestBounds: never more images in hand than the bound, whatever the form holds.
func TestBounds(t *testing.T) {
	server := server()
	var now, most atomic.Int32
	server.OnInfer = func(context.Context, *inference.ModelInferRequest) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
	}
	s := fronttest.Start(t, server, func(c *fronttest.Config) { c.Classify.Parallel = 3 })
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("%d.jpg", i), fmt.Sprint("image", i))
	}
	body, kind := form(files...)
	doc := read(t, s.Post("/v1/classify", body, "Content-Type", kind))
	for i, r := range doc.Results {
		if r.Name != fmt.Sprintf("%d.jpg", i) || r.Predictions[0]["label"] != fmt.Sprint("image", i) {
			t.Fatalf("result %d is %+v", i, r)
		}
	}
	if len(doc.Results) != 40 || most.Load() > 3 {
		t.Errorf("%d results, %d at a time", len(doc.Results), most.Load())
	}
}

// TestGreatForm is DEC-17: a form beyond the bound is refused while it comes in,
// in words that the caller can read, and nothing is put on disk.
func TestGreatForm(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := fronttest.Start(t, server(), func(c *fronttest.Config) { c.MaxBody, c.Room.MaxBytes = 8<<20, 16<<20 })
	reader, writer := io.Pipe()
	w := multipart.NewWriter(writer)
	go func() {
		part, _ := w.CreateFormFile("image", "big.jpg")
		chunk := make([]byte, 1<<20)
		for range 100 {
			if _, err := part.Write(chunk); err != nil {
				break
			}
		}
		_ = w.Close()
		_ = writer.Close()
	}()
	a := s.Do(http.MethodPost, "/v1/classify", reader, "Content-Type", w.FormDataContentType())
	if a.Status != http.StatusRequestEntityTooLarge || a.Failure().Code != "TOO_LARGE" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	photo := bytes.Repeat([]byte("x"), 8<<20-1024)
	if a := s.Post("/v1/classify?top_k=1", photo, "Content-Type", "image/jpeg"); a.Status != http.StatusOK {
		t.Errorf("a photo of 8 MB: %d %.200s", a.Status, a.Body)
	}
}

func TestModelIsAskedAgain(t *testing.T) {
	server := server()
	s := fronttest.Start(t, server)
	read(t, s.Post("/v1/classify", []byte("cat")))
	server.Models[0].Config = fake.Classifier("gone").Config
	if a := s.Post("/v1/classify", []byte("cat")); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	server.Models[0] = fake.Classifier("classify")
	server.Models[0].Config.Input[0].Name = "PHOTO"
	var input string
	server.OnInfer = func(_ context.Context, req *inference.ModelInferRequest) { input = req.GetInputs()[0].GetName() }
	if s.Post("/v1/classify", []byte("cat")); input != "PHOTO" {
		t.Errorf("the old name of the input is still believed: %q", input)
	}
}

func TestWrongAnswersOfAModel(t *testing.T) {
	run := func(outputs ...oip.Tensor) fake.Model {
		m := fake.Classifier("classify")
		m.Run = func(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
			resp := &inference.ModelInferResponse{}
			for _, o := range outputs {
				oip.AddOutput(resp, o)
			}
			return resp, nil
		}
		return m
	}
	label := oip.Tensor{Name: "LABEL", Datatype: oip.Bytes, Shape: []int64{1, 1}, Data: oip.JoinStrings("cat")}
	score := oip.Tensor{Name: "SCORE", Datatype: "FP32", Shape: []int64{1, 1}, Data: []byte{0, 0, 192, 127}}
	class := oip.Tensor{Name: "CLASS", Datatype: "INT32", Shape: []int64{1, 1}, Data: make([]byte, 4)}
	short, other := class, class
	short.Data, other.Datatype = make([]byte, 3), "INT64"
	for name, m := range map[string]fake.Model{
		"NaN": run(label, score, class), "too few": run(label, class, short), "another type": run(label, score, other), "nothing": run(),
	} {
		t.Run(name, func(t *testing.T) {
			s := fronttest.Start(t, &fake.Server{Models: []fake.Model{m}})
			if a := s.Post("/v1/classify", []byte("cat")); a.Status != failure.Internal.HTTPStatus() {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
}
