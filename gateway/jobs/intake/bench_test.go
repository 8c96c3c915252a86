package intake_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"triptych/gateway/jobs/jobstest"
)

// form streams a form of so many images of one size.
func form(count, size int) (body io.Reader, contentType string) {
	image := noise(size)
	r, w := io.Pipe()
	f := multipart.NewWriter(w)
	go func() {
		for i := range count {
			part, err := f.CreateFormFile("image", strconv.Itoa(i)+".jpg")
			if err == nil {
				_, err = io.WriteString(part, image)
			}
			if err != nil {
				return
			}
		}
		_ = f.Close()
		_ = w.Close()
	}()
	return r, f.FormDataContentType()
}

// archive streams a TAR archive of so many files of one size.
func archive(count, size int) io.Reader {
	content := noise(size)
	r, w := io.Pipe()
	go func() {
		t := tar.NewWriter(w)
		for i := range count {
			err := t.WriteHeader(&tar.Header{Name: strconv.Itoa(i) + ".jpg", Size: int64(size), Mode: 0o600, Typeflag: tar.TypeReg})
			if err == nil {
				_, err = io.WriteString(t, content)
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

// peak watches the memory that the process holds.
type peak struct {
	stop context.CancelFunc
	most chan uint64
	idle uint64
}

func resident() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kb uint64
	_, _ = fmt.Sscan(after, &kb)
	return kb << 10
}

func watch() *peak {
	runtime.GC()
	ctx, cancel := context.WithCancel(context.Background())
	p := &peak{stop: cancel, most: make(chan uint64, 1), idle: resident()}
	go func() {
		most := p.idle
		for ctx.Err() == nil {
			most = max(most, resident())
			time.Sleep(5 * time.Millisecond)
		}
		p.most <- most
	}()
	return p
}

// above is how far the memory has risen, in MiB.
func (p *peak) above() float64 {
	p.stop()
	return float64(int64(<-p.most-p.idle)) / (1 << 20)
}

// BenchmarkThousand takes a job of 1,000 images of 100 kB, each anew. The memory is
// also that of the NATS server and the feeder, which are in the same process.
func BenchmarkThousand(b *testing.B) {
	s := jobstest.Start(b)
	for b.Loop() {
		p := watch()
		body, media := form(1000, 100_000)
		doc := s.Job(s.Do(http.MethodPost, "/v1/jobs", body, "Content-Type", media), http.StatusAccepted)
		b.ReportMetric(p.above(), "MiB-above-idle")
		if err := s.Store.DropPages(b.Context(), doc.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTiny takes a job of 100,000 items of 100 bytes, each anew.
func BenchmarkTiny(b *testing.B) {
	s := jobstest.Start(b)
	for b.Loop() {
		p := watch()
		doc := s.Job(s.Do(http.MethodPost, "/v1/jobs", archive(100_000, 100), "Content-Type", tarType), http.StatusAccepted)
		b.ReportMetric(p.above(), "MiB-above-idle")
		if err := s.Store.DropPages(b.Context(), doc.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLarge takes a job of 100 images of 1 MB, which go to the object store.
func BenchmarkLarge(b *testing.B) {
	s := jobstest.Start(b)
	for b.Loop() {
		p := watch()
		body, media := form(100, 1_000_000)
		s.Job(s.Do(http.MethodPost, "/v1/jobs", body, "Content-Type", media), http.StatusAccepted)
		b.ReportMetric(p.above(), "MiB-above-idle")
	}
}
