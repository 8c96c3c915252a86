package target_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

var images = []sample.Image{{Name: "cat.jpg", Data: []byte("cat picture")}, {Name: "dog.jpg", Data: []byte("dog picture")}}

// byName is a server that knows what its images are called.
func byName(image []byte) ([]string, error) {
	name, _, _ := strings.Cut(string(image), " ")
	return []string{name, "animal, or so"}, nil
}

func dial(t *testing.T, o target.Options) target.Target {
	t.Helper()
	o.Model, o.Input, o.Output, o.Connections, o.InFlight = targettest.Model, "IMAGE", "LABEL", 2, 4
	made, err := target.New(o, images)
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

func all(s *targettest.Server) []target.Options {
	return []target.Options{
		{Protocol: target.Classify, URL: s.URL},
		{Protocol: target.REST, URL: s.URL + "/"},
		{Protocol: target.GRPC, URL: s.Address},
	}
}

func TestDo(t *testing.T) {
	for _, o := range all(targettest.Start(t, byName)) {
		t.Run(string(o.Protocol), func(t *testing.T) {
			d := dial(t, o)
			for n, name := range []string{"cat", "dog", "cat"} {
				answer, err := d.Do(t.Context(), n%2)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{name, "animal, or so"}, answer.Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				if answer.Sent < len("cat picture") || answer.Received < len("animal, or so") {
					t.Errorf("%d bytes sent, %d received", answer.Sent, answer.Received)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	busy := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "the queue is full") })
	broken := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.BrokenImage, "truncated") })
	gone := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.NotFound, "unknown model") })
	away := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Unavailable, "not ready") })
	none := targettest.Start(t, func([]byte) ([]string, error) { return nil, nil })
	tests := []struct {
		name       string
		server     *targettest.Server
		http, grpc measure.Fault
	}{
		{"busy", busy, measure.Fault{Kind: "HTTP 429 BUSY", Message: "the queue is full"}, measure.Fault{Kind: "gRPC RESOURCE_EXHAUSTED BUSY", Message: "the queue is full"}},
		{"gone", gone, measure.Fault{Kind: "HTTP 404 NOT_FOUND", Message: "unknown model", Permanent: true}, measure.Fault{Kind: "gRPC NOT_FOUND", Message: "unknown model", Permanent: true}},
		{"away", away, measure.Fault{Kind: "HTTP 503 UNAVAILABLE", Message: "not ready"}, measure.Fault{Kind: "gRPC UNAVAILABLE", Message: "not ready"}},
		{"broken image", broken, measure.Fault{Kind: "HTTP 422 BROKEN_IMAGE", Message: "truncated"}, measure.Fault{Kind: "gRPC INVALID_ARGUMENT BROKEN_IMAGE", Message: "truncated"}},
	}
	for _, tt := range tests {
		for _, o := range all(tt.server) {
			t.Run(tt.name+" by "+string(o.Protocol), func(t *testing.T) {
				want := tt.http
				if o.Protocol == target.GRPC {
					want = tt.grpc
				}
				_, err := dial(t, o).Do(t.Context(), 0)
				if err == nil || measure.FaultOf(err) != want {
					t.Errorf("error = %v, want %+v", err, want)
				}
			})
		}
	}
	t.Run("no predictions", func(t *testing.T) {
		_, err := dial(t, target.Options{Protocol: target.Classify, URL: none.URL}).Do(t.Context(), 0)
		if err == nil || measure.FaultOf(err).Kind != measure.BadAnswer {
			t.Errorf("error = %v", err)
		}
	})
}

func TestTensors(t *testing.T) {
	server := targettest.Start(t, byName)
	o := target.Options{Protocol: target.GRPC, URL: server.Address, Model: targettest.Model, Connections: 1, Priority: 3}
	tensors := []oip.Tensor{{Name: targettest.Tensor, Datatype: "UINT8", Shape: []int64{1}, Data: []byte{10}}, {Name: targettest.Tensor, Datatype: "UINT8", Shape: []int64{1}, Data: []byte{20}}}
	d, err := target.NewTensors(o, tensors, func(n int, resp *inference.ModelInferResponse) error {
		if y, _ := oip.Output(resp, "y"); !cmp.Equal(y.Data, []byte{3, tensors[n].Data[0]}) {
			return &measure.Fault{Kind: measure.WrongAnswer}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for n := range tensors {
		if answer, err := d.Do(t.Context(), n); err != nil || answer.Sent == 0 || answer.Received == 0 {
			t.Errorf("tensor %d: %+v, error %v", n, answer, err)
		}
	}
	if _, err := target.NewTensors(target.Options{Protocol: target.REST}, tensors, nil); err == nil {
		t.Error("tensors over REST are not refused")
	}
}

func TestNobodyThere(t *testing.T) {
	address := targettest.Nobody(t)
	for protocol, kind := range map[target.Protocol]string{target.Classify: measure.Connection, target.REST: measure.Connection, target.GRPC: "gRPC UNAVAILABLE"} {
		_, err := dial(t, target.Options{Protocol: protocol, URL: address}).Do(t.Context(), 0)
		if err == nil || measure.FaultOf(err).Kind != kind || !measure.FaultOf(err).Unreached {
			t.Errorf("%s: error = %v, want %s", protocol, err, kind)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range all(targettest.Start(t, byName)) {
		if _, err := dial(t, o).Do(ctx, 0); err == nil {
			t.Errorf("%s: no error", o.Protocol)
		}
	}
}

// What other servers answer, and what servers should not.
func TestAnswersOverREST(t *testing.T) {
	const binaryHead = `{"outputs":[{"name":"LABEL","datatype":"BYTES","shape":[1,1],"parameters":{"binary_data_size":7}}]}`
	whole := strconv.Itoa(len(binaryHead))
	tests := []struct {
		name, length, body string
		want               []string
		kind               string
	}{
		{"binary", whole, binaryHead + "\x03\x00\x00\x00cat", []string{"cat"}, ""},
		{"JSON", "", `{"outputs":[{"name":"SCORE","data":[1]},{"name":"LABEL","data":["cat","dog"]}]}`, []string{"cat", "dog"}, ""},
		{"no such output", "", `{"outputs":[]}`, nil, measure.BadAnswer},
		{"labels of numbers", "", `{"outputs":[{"name":"LABEL","data":[1]}]}`, nil, measure.BadAnswer},
		{"not JSON", "", `<html>`, nil, measure.BadAnswer},
		{"length of JSON too great", "9999", binaryHead, nil, measure.BadAnswer},
		{"length of JSON is a word", "many", binaryHead, nil, measure.BadAnswer},
		{"binary part too short", whole, binaryHead, nil, measure.BadAnswer},
		{"element too long", whole, binaryHead + "\x09\x00\x00\x00cat", nil, measure.BadAnswer},
		{"shape negative", "", `{"outputs":[{"name":"LABEL","shape":[-1],"parameters":{"binary_data_size":0}}]}`, nil, measure.BadAnswer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.length != "" {
					w.Header().Set("Inference-Header-Content-Length", tt.length)
				}
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			answer, err := dial(t, target.Options{Protocol: target.REST, URL: server.URL}).Do(t.Context(), 0)
			if diff := cmp.Diff(tt.want, answer.Labels); diff != "" {
				t.Errorf("error %v, labels (-want +got):\n%s", err, diff)
			}
			if tt.kind != "" && (err == nil || measure.FaultOf(err).Kind != tt.kind) {
				t.Errorf("error = %v, want %s", err, tt.kind)
			}
		})
	}
}

func TestErrorsOfOtherServers(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   measure.Fault
	}{
		{"Triton's", 503, `{"error":"exceeds maximum queue size"}`, measure.Fault{Kind: "HTTP 503", Message: "exceeds maximum queue size"}},
		{"a proxy's", 502, "<html>bad gateway</html>", measure.Fault{Kind: "HTTP 502", Message: "<html>bad gateway</html>"}},
		{"a redirect", 307, "", measure.Fault{Kind: "HTTP 307"}},
		{"a code without end", 400, `{"error":"x","code":"` + strings.Repeat("A", 100) + `"}`, measure.Fault{Kind: "HTTP 400 " + strings.Repeat("A", 40), Message: "x", Permanent: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			_, err := dial(t, target.Options{Protocol: target.Classify, URL: server.URL}).Do(t.Context(), 0)
			if err == nil || measure.FaultOf(err) != tt.want {
				t.Errorf("error = %v, want %+v", err, tt.want)
			}
		})
	}
}

func TestAnswerThatBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
	}))
	defer server.Close()
	_, err := dial(t, target.Options{Protocol: target.Classify, URL: server.URL}).Do(t.Context(), 0)
	if err == nil || measure.FaultOf(err).Kind != measure.Connection || measure.FaultOf(err).Unreached {
		t.Errorf("error = %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    target.Options
		want string
	}{
		{"protocol", target.Options{Protocol: "smtp"}, `--protocol is "smtp", must be one of classify, rest, grpc`},
		{"scheme", target.Options{Protocol: target.REST, URL: "ftp://host"}, `--url is "ftp://host", must be like http://127.0.0.1:8000`},
		{"no host", target.Options{Protocol: target.Classify, URL: "http://"}, `--url is "http://"`},
		{"not a URL", target.Options{Protocol: target.Classify, URL: "http://a b"}, `--url is "http://a b"`},
		{"gRPC control character", target.Options{Protocol: target.GRPC, URL: "\x00", Connections: 1}, `--url is`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := target.New(tt.o, images)
			var f *failure.Error
			if !errors.As(err, &f) || f.Kind != failure.Invalid || !strings.HasPrefix(f.Message, tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	tests := []struct {
		o    target.Options
		want string
	}{
		{target.Options{Protocol: target.Classify}, "http://127.0.0.1:8000"},
		{target.Options{Protocol: target.GRPC}, "127.0.0.1:8001"},
		{target.Options{Protocol: target.GRPC, URL: "http://host:1/"}, "host:1"},
		{target.Options{Protocol: target.GRPC, URL: "dns:///host:1"}, "dns:///host:1"},
		{target.Options{Protocol: target.REST, URL: "host:1"}, "http://host:1"},
		{target.Options{Protocol: target.REST, URL: "https://host/prefix"}, "https://host/prefix"},
		{target.Options{Protocol: target.REST, URL: "ftp://host"}, "ftp://host"},
	}
	for _, tt := range tests {
		if got := target.Address(tt.o); got != tt.want {
			t.Errorf("Address(%+v) = %q, want %q", tt.o, got, tt.want)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	server := targettest.Start(b, byName)
	picture := []sample.Image{{Name: "cat.jpg", Data: append([]byte("cat "), make([]byte, 100_000)...)}}
	for _, o := range all(server) {
		b.Run(string(o.Protocol), func(b *testing.B) {
			o.Model, o.Input, o.Output, o.Connections, o.InFlight = targettest.Model, "IMAGE", "LABEL", 1, 1
			d, err := target.New(o, picture)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Do(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
