// Package targettest is a small server that speaks all the protocols of a load
// test, for tests. It classifies by a function.
package targettest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// Model is the one model of a Server.
const Model = "classify"

// Tensor is its input that is no image.
const Tensor = "tensor"

const lengthHeader = "Inference-Header-Content-Length"

// Classify gives the labels of an image, best first.
type Classify func(image []byte) ([]string, error)

// Server listens on two ports.
type Server struct {
	inference.UnimplementedGRPCInferenceServiceServer
	// URL is that of HTTP, Address that of gRPC.
	URL, Address string
	classify     Classify
	mu           sync.Mutex
	last         Call
	jobs         [][][]byte // the images of each job
}

// Call is what a request says beside its image.
type Call struct {
	Version, Priority, Timeout, Tenant, Note string
}

// NoteHeader is the header, or metadata, that Call has as Note.
const NoteHeader = "x-note"

// Last is what the last request said.
func (s *Server) Last() Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Server) hears(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = c
}

// spoken is what a request's headers say.
func spoken(h http.Header) Call {
	return Call{Priority: h.Get("triptych-priority"), Tenant: h.Get("triptych-tenant"), Note: h.Get(NoteHeader)}
}

// Start runs a Server until the test ends.
func Start(tb testing.TB, classify Classify) *Server {
	tb.Helper()
	s := &Server{classify: classify}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/classify", s.v1)
	mux.HandleFunc("POST /v2/models/"+Model+"/infer", s.v2)
	mux.HandleFunc("POST /v2/models/"+Model+"/versions/{version}/infer", s.v2)
	mux.HandleFunc("POST /v1/jobs", s.submit)
	mux.HandleFunc("GET /v1/jobs/{id}/results", s.results)
	web := httptest.NewServer(mux)
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(server, s)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		web.CloseClientConnections() // of those who gave up and left the server waiting
		web.Close()
		server.Stop()
		serving.Wait()
	})
	s.URL, s.Address = web.URL, listener.Addr().String()
	return s
}

func (s *Server) v1(w http.ResponseWriter, r *http.Request) {
	s.hears(spoken(r.Header))
	image, err := io.ReadAll(r.Body)
	if err == nil && r.URL.Query().Get("model") != Model {
		err = failure.New(failure.NotFound, "unknown model")
	}
	var labels []string
	if err == nil {
		labels, err = s.classify(image)
	}
	if err != nil {
		fail(w, err)
		return
	}
	predictions := make([]map[string]any, len(labels))
	for i, label := range labels {
		predictions[i] = map[string]any{"label": label, "score": 0.5, "class": i}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{map[string]any{"predictions": predictions}}})
}

func fail(w http.ResponseWriter, err error) {
	w.WriteHeader(failure.KindOf(err).HTTPStatus())
	_ = json.NewEncoder(w).Encode(map[string]string{"error": failure.Message(err), "code": failure.KindOf(err).String()})
}

// v2 answers two binary outputs, of which the first is not the labels.
func (s *Server) v2(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	n, nerr := strconv.Atoi(r.Header.Get(lengthHeader))
	var req struct {
		Parameters map[string]json.Number
		Inputs     []struct {
			Name, Datatype string
			Shape          []int64
			Parameters     map[string]int
		}
	}
	if err = errors.Join(err, nerr); err == nil {
		err = json.Unmarshal(body[:n], &req)
	}
	if err != nil || len(req.Inputs) != 1 || req.Inputs[0].Parameters["binary_data_size"] != len(body)-n {
		fail(w, failure.Wrap(err, failure.Invalid, "not a binary request"))
		return
	}
	said := spoken(r.Header)
	said.Version, said.Priority, said.Timeout = r.PathValue("version"), req.Parameters["priority"].String(), req.Parameters["timeout"].String()
	s.hears(said)
	in := req.Inputs[0]
	labels, err := s.infer(oip.Tensor{Name: in.Name, Datatype: in.Datatype, Shape: in.Shape, Data: body[n:]})
	if err != nil {
		fail(w, err)
		return
	}
	data := oip.JoinStrings(labels...)
	output := func(name string, datatype string, size int) map[string]any {
		return map[string]any{"name": name, "datatype": datatype, "shape": []int{1, len(labels)}, "parameters": map[string]int{"binary_data_size": size}}
	}
	head, _ := json.Marshal(map[string]any{"outputs": []any{output("SCORE", "FP32", 4*len(labels)), output("LABEL", "BYTES", len(data))}})
	w.Header().Set(lengthHeader, strconv.Itoa(len(head)))
	for _, part := range [][]byte{head, make([]byte, 4*len(labels)), data} {
		_, _ = w.Write(part)
	}
}

// ModelInfer implements the service. An input called Tensor is answered with its
// first byte, and with the request's priority in front of it.
func (s *Server) ModelInfer(ctx context.Context, req *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	s.hears(heard(ctx, req))
	if tensor, ok := oip.Input(req, Tensor); ok {
		return s.tensor(req, tensor)
	}
	tensor, ok := oip.Input(req, "IMAGE")
	if !ok || req.GetModelName() != Model {
		return nil, failure.ToStatus(failure.New(failure.NotFound, "unknown model or input"))
	}
	labels, err := s.infer(tensor)
	if err != nil {
		return nil, failure.ToStatus(err)
	}
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "LABEL", Datatype: oip.Bytes, Shape: []int64{1, int64(len(labels))}, Data: oip.JoinStrings(labels...)})
	return resp, nil
}

// heard is what a request of gRPC says.
func heard(ctx context.Context, req *inference.ModelInferRequest) Call {
	md, _ := metadata.FromIncomingContext(ctx)
	first := func(name string) string { return strings.Join(md.Get(name), ",") }
	c := Call{Version: req.GetModelVersion(), Tenant: first("triptych-tenant"), Note: first(NoteHeader)}
	if p, err := oip.IntParameter(req.GetParameters(), "priority", 0); err == nil && p > 0 {
		c.Priority = strconv.FormatInt(p, 10)
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < 10*time.Second {
		c.Timeout = "soon"
	}
	return c
}

func (s *Server) tensor(req *inference.ModelInferRequest, t oip.Tensor) (*inference.ModelInferResponse, error) {
	if _, err := s.classify(t.Data); err != nil {
		return nil, failure.ToStatus(err)
	}
	priority, err := oip.IntParameter(req.GetParameters(), "priority", 0)
	if err != nil {
		return nil, failure.ToStatus(err)
	}
	resp := &inference.ModelInferResponse{}
	oip.AddOutput(resp, oip.Tensor{Name: "y", Datatype: "UINT8", Shape: []int64{2}, Data: []byte{byte(priority), t.Data[0]}})
	return resp, nil
}

func (s *Server) infer(t oip.Tensor) ([]string, error) {
	if t.Name != "IMAGE" || t.Datatype != oip.Bytes || !oip.Fits(t.Shape, []int64{1, 1}) {
		return nil, failure.New(failure.Invalid, "input %s %s %s is not IMAGE BYTES [1,1]", t.Name, t.Datatype, oip.FormatShape(t.Shape))
	}
	images, err := oip.Strings(t.Data, 1)
	if err != nil {
		return nil, err
	}
	return s.classify(images[0])
}
