package intake_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"triptych/gateway/jobs/jobstest"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// A full backlog refuses jobs with a hint, loses none that it took, and takes some
// again when there is room. (NAT-03)
func TestFullBacklog(t *testing.T) {
	s := jobstest.Start(t, func(c *jobstest.Config) {
		c.Stream = func(l *stream.Config) { l.Limits.BacklogBytes, l.Limits.InlineBytes = 4<<20, 512<<10 }
	})
	var taken []string
	for range 20 {
		a := s.Send(jobstest.Form(noise(400<<10), noise(400<<10)))
		if a.Status == http.StatusTooManyRequests {
			after, err := strconv.Atoi(a.Header.Get("Retry-After"))
			if err != nil || after < 1 || after > 300 || a.Failure().Code != "BUSY" {
				t.Errorf("Retry-After is %q, %s", a.Header.Get("Retry-After"), a.Body)
			}
			if strings.Count(string(a.Body), "full") > 1 {
				t.Errorf("it says so twice: %s", a.Body)
			}
			continue
		}
		taken = append(taken, s.Job(a, http.StatusAccepted).ID)
	}
	if len(taken) < 2 || len(taken) > 5 {
		t.Fatalf("%d jobs were taken", len(taken))
	}
	for _, id := range taken {
		items(t, s, id)
	}
	if err := s.Store.DropPages(t.Context(), taken[0]); err != nil {
		t.Fatal(err)
	}
	s.Create("small")
	if a := s.Send(jobstest.Form(strings.Split(strings.Repeat(noise(400<<10)+"|", 12), "|")...)); a.Status != http.StatusRequestEntityTooLarge && a.Status != http.StatusTooManyRequests {
		t.Errorf("a job larger than the backlog: %d", a.Status)
	}
}

// lowDisk is a server in this process that has little room left on its disk.
type lowDisk struct {
	nats.InProcessConnProvider
	low *atomic.Bool
}

func (lowDisk) Health() error { return nil }

func (d lowDisk) Low() error {
	if d.low.Load() {
		return failure.New(failure.Unavailable, "the disk of the job store is full")
	}
	return nil
}

// What the disk has left is for jobs that were accepted: no others are, and these go on.
func TestLowDisk(t *testing.T) {
	var low atomic.Bool
	s := jobstest.Start(t, func(c *jobstest.Config) {
		c.Stream = func(l *stream.Config) { l.InProcess = lowDisk{l.InProcess, &low} }
	})
	id := s.Create("cat")
	low.Store(true)
	if a := s.Send(jobstest.Form("dog")); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	s.Job(s.Get("/v1/jobs/"+id), http.StatusOK)
	low.Store(false)
	s.Create("dog")
}

// A job that fills the backlog alone will never fit.
func TestLargerThanTheBacklog(t *testing.T) {
	s := jobstest.Start(t, func(c *jobstest.Config) {
		c.Stream = func(l *stream.Config) { l.Limits.BacklogBytes, l.Limits.InlineBytes = 2<<20, 512<<10 }
	})
	images := make([]string, 12)
	for i := range images {
		images[i] = noise(400 << 10)
	}
	if a := s.Send(jobstest.Form(images...)); a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(a.Failure().Error, "backlog") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if n := s.Stored(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// A job is taken only if there is room for its results.
func TestRoomForResults(t *testing.T) {
	s := jobstest.Start(t, func(c *jobstest.Config) {
		c.Stream = func(l *stream.Config) { l.Limits.VerdictBytes = 1 << 20 }
	})
	images := make([]string, 600)
	for i := range images {
		images[i] = "x"
	}
	id := s.Create(images...)
	if a := s.Send(jobstest.Form(images...)); a.Status != http.StatusTooManyRequests || !strings.Contains(a.Failure().Error, "results") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.Send(jobstest.Form(append(images, images...)...)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("more than will ever fit: %d %s", a.Status, a.Body)
	}
	s.Finish(id, &pb.Counts{Succeeded: 600})
}

// While NATS is away jobs are refused at once, other routes are as ever, and all is
// well again when it is back. (NAT-05, NAT-08)
func TestAway(t *testing.T) {
	s := jobstest.Start(t)
	id := s.Create("cat")
	s.Cut()
	for _, path := range []string{"/v1/jobs", "/v1/jobs/" + id, "/v1/jobs/" + id + "/results", "/v1/dead-letters"} {
		if a := s.Get(path); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.Send(jobstest.Form("cat")); a.Status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := s.Post("/v1/classify", []byte("cat")); a.Status != http.StatusOK {
		t.Errorf("the synchronous road: %d %s", a.Status, a.Body)
	}
	if a := s.Get("/v2/health/ready"); a.Status != http.StatusOK {
		t.Errorf("readiness: %d", a.Status)
	}
	s.Mend()
	s.Create("dog")
	if doc := s.Job(s.Get("/v1/jobs/"+id), http.StatusOK); doc.Items != 1 {
		t.Errorf("%+v", doc)
	}
}
