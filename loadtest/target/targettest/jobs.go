package targettest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"triptych/shared/failure"
)

// submit takes a job of files.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	said := spoken(r.Header)
	said.Version, said.Priority, said.Timeout = r.URL.Query().Get("version"), r.URL.Query().Get("priority"), r.URL.Query().Get("deadline")
	s.hears(said)
	if err := r.ParseMultipartForm(1 << 20); err != nil || r.URL.Query().Get("model") != Model {
		fail(w, failure.Wrap(err, failure.Invalid, "not a job for %s", Model))
		return
	}
	var images [][]byte
	for _, header := range r.MultipartForm.File["file"] {
		f, err := header.Open()
		if err != nil {
			fail(w, err)
			return
		}
		data, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			fail(w, err)
			return
		}
		images = append(images, data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, images)
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"id":"%d","state":"running","items":%d}`, len(s.jobs)-1, len(images))
}

// results classifies the images of a job, the last first.
func (s *Server) results(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || n >= len(s.jobs) {
		s.mu.Unlock()
		fail(w, failure.New(failure.NotFound, "no such job"))
		return
	}
	images := s.jobs[n]
	s.mu.Unlock()
	out := json.NewEncoder(w)
	for i := len(images) - 1; i >= 0; i-- {
		labels, err := s.classify(images[i])
		if err != nil {
			_ = out.Encode(map[string]any{"item": i, "state": "failed", "error": map[string]string{"message": failure.Message(err)}})
			continue
		}
		predictions := make([]map[string]string, len(labels))
		for k, label := range labels {
			predictions[k] = map[string]string{"label": label}
		}
		_ = out.Encode(map[string]any{"item": i, "state": "succeeded", "predictions": predictions})
	}
	_ = out.Encode(map[string]any{"end": "done"})
}
