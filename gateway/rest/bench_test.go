package rest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission"
	"triptych/gateway/front"
	"triptych/gateway/rest"
	"triptych/shared/telemetry"
)

const pixels = 224 * 224 * 3

func benchmark(b *testing.B, body []byte, headers ...string) {
	room, err := admission.New(admission.DefaultConfig(), prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	f, err := front.New(front.DefaultConfig(), server(), room, telemetry.Discard(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/v2/models/big/infer", bytes.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		w := &sink{header: http.Header{}}
		f.Handler().ServeHTTP(w, req)
		if w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

// sink throws the answer away.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// BenchmarkBinary is an image of pixels there and back as binary data.
func BenchmarkBinary(b *testing.B) {
	header := fmt.Sprintf(`{"id":"1","parameters":{"binary_data_output":true},"inputs":[{"name":"IN","datatype":"UINT8","shape":[1,224,224,3],"parameters":{"binary_data_size":%d}}]}`, pixels)
	benchmark(b, append([]byte(header), make([]byte, pixels)...), rest.HeaderLength, strconv.Itoa(len(header)))
}

// BenchmarkJSON is the same as JSON.
func BenchmarkJSON(b *testing.B) {
	benchmark(b, []byte(`{"id":"1","inputs":[{"name":"IN","datatype":"UINT8","shape":[1,224,224,3],"data":[`+strings.Repeat("128,", pixels-1)+`128]}]}`))
}
