package api_test

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"triptych/gateway/jobs/jobstest"
)

// tiny streams a TAR archive of so many files of 5 bytes.
func tiny(count int) io.Reader {
	r, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		for i := range count {
			err := t.WriteHeader(&tar.Header{Name: strconv.Itoa(i) + ".jpg", Size: 5, Mode: 0o600, Typeflag: tar.TypeReg})
			if err == nil {
				_, err = io.WriteString(t, "image")
			}
			if err != nil {
				return
			}
		}
		_ = t.Close()
		_ = w.Close()
	}()
	return r
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// whole takes a job of so many items, cancels it, and reads all of its results. It
// tells how long each took, and how much memory is held in the midst of the results.
func whole(tb testing.TB, s *jobstest.Server, count int) (accept, cancel, read time.Duration, held float64) {
	tb.Helper()
	before, begin := heap(), time.Now()
	id := s.Job(s.Do(http.MethodPost, "/v1/jobs", tiny(count), "Content-Type", "application/x-tar"), http.StatusAccepted).ID
	accept = time.Since(begin)
	s.Job(s.Do(http.MethodDelete, "/v1/jobs/"+id, http.NoBody), http.StatusAccepted)
	for begin = time.Now(); s.Job(s.Get("/v1/jobs/"+id), http.StatusOK).State != "cancelled"; {
		time.Sleep(20 * time.Millisecond)
	}
	cancel, begin = time.Since(begin), time.Now()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.URL+"/v1/jobs/"+id+"/results", http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	seen, last := 0, line{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); seen++ {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			tb.Fatal(err)
		}
		if seen == count/2 {
			held = heap() - before
		}
	}
	if seen != count+1 || last.End != "cancelled" {
		tb.Fatalf("%d lines, the last %+v", seen, last)
	}
	return accept, cancel, time.Since(begin), held
}

// A job of many items is accepted, cancelled and read as a whole.
func TestMany(t *testing.T) {
	s := jobstest.Start(t)
	if _, _, _, held := whole(t, s, 3000); held > 64 {
		t.Errorf("%.0f MiB are held", held)
	}
}

// BenchmarkHundredThousand does so with 100,000 items. The memory is also that of the
// NATS server, which is in the same process.
func BenchmarkHundredThousand(b *testing.B) {
	s := jobstest.Start(b)
	for b.Loop() {
		accept, cancel, read, held := whole(b, s, 100_000)
		b.ReportMetric(accept.Seconds(), "s-accept")
		b.ReportMetric(cancel.Seconds(), "s-cancel")
		b.ReportMetric(read.Seconds(), "s-read")
		b.ReportMetric(held, "MiB-held")
	}
}
