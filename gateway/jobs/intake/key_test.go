package intake_test

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"testing"

	"triptych/gateway/internal/fronttest"
	"triptych/gateway/jobs/jobstest"
	pb "triptych/proto/jobs"
	"triptych/shared/stream"
)

const key = "Idempotency-Key"

// The same request with the same key is the same job; another one with it is a 409.
func TestKeyAgain(t *testing.T) {
	s := jobstest.Start(t)
	large := noise(300 << 10)
	body, media := jobstest.FormOf(map[string]string{"name": "n", "deadline": "90m"}, "cat", "dog", large)
	first := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted)
	stored := s.Stored()
	if again := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted); again.ID != first.ID {
		t.Errorf("another job, %s", again.ID)
	}
	others := map[string][]string{
		"other bytes": {"cat", "dug", large}, "other order": {"dog", "cat", large}, "fewer": {"cat", "dog"}, "more": {"cat", "dog", large, "x"},
		"moved": {"catd", "og", large},
	}
	for name, images := range others {
		other, media := jobstest.FormOf(map[string]string{"name": "n", "deadline": "90m"}, images...)
		if a := s.Send(other, media, key, "k"); a.Status != http.StatusConflict || !strings.Contains(a.Failure().Error, "Idempotency-Key") {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	for _, query := range []string{"?priority=1", "?name=m", "?model=echo", "?top_k=2"} {
		body, media := jobstest.FormOf(map[string]string{"deadline": "90m"}, "cat", "dog", large)
		if query != "?name=m" {
			query += "&name=n"
		}
		if a := s.Post("/v1/jobs"+query, body, "Content-Type", media, key, "k"); a.Status != http.StatusConflict {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
	if a := s.Send(body, media, key, strings.Repeat("k", 256)); a.Status != http.StatusBadRequest {
		t.Errorf("a long key: %d", a.Status)
	}
	if now := s.Stored(); now != stored {
		t.Errorf("%d messages are stored, %d were", now, stored)
	}
	if other := s.Job(s.Send(body, media, key, "l"), http.StatusAccepted); other.ID == first.ID {
		t.Error("another key is the same job")
	}
}

// Of many at once one makes the job, and the others answer it.
func TestKeyRace(t *testing.T) {
	s := jobstest.Start(t)
	body, media := jobstest.Form(noise(900<<10), "cat", noise(300<<10))
	before := s.Stored()
	answers := make([]fronttest.Answer, 6)
	var running sync.WaitGroup
	for i := range answers {
		running.Go(func() { answers[i] = s.Send(body, media, key, "k") })
	}
	running.Wait()
	ids := map[string]bool{}
	for _, a := range answers {
		ids[s.Job(a, http.StatusAccepted).ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("%d jobs", len(ids))
	}
	var id string
	for id = range ids {
		items(t, s, id)
	}
	alone := s.Stored() - before
	s.Create(noise(900<<10), "cat", noise(300<<10))
	if twice := s.Stored() - before; twice != 2*alone-1 { // the key
		t.Errorf("one job has %d messages, and %d after a race", twice-alone, alone)
	}
}

// A gateway that died after it had taken the key and before it had stored the record
// leaves a key for no job. The retry makes the job, and if the gateway was but slow
// its record can't come any more.
func TestKeyOfNoJob(t *testing.T) {
	s := jobstest.Start(t)
	hash := sha256.Sum256([]byte("k"))
	ghost := &pb.Job{Id: "ghost", Idempotency: hash[:], Digest: []byte("whatever")}
	if err := s.Store.ClaimKey(t.Context(), ghost, 0); err != nil {
		t.Fatal(err)
	}
	body, media := jobstest.Form("cat")
	first := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted)
	if err := s.Store.Create(t.Context(), ghost); err == nil {
		t.Error("the slow gateway made a second job")
	}
	if again := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted); again.ID != first.ID {
		t.Error("the retry made another job")
	}
}

// A gateway that died between storing and answering has made the job.
func TestKilledBeforeTheAnswer(t *testing.T) {
	s := jobstest.Start(t)
	body, media := jobstest.Form("cat", noise(300<<10))
	first := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted) // which nobody got
	other := jobstest.Start(t, func(c *jobstest.Config) { c.NATS = s.NATS })
	if again := other.Job(other.Send(body, media, key, "k"), http.StatusAccepted); again.ID != first.ID {
		t.Error("the retry made another job")
	}
}

// When a job has been deleted its key is free.
func TestKeyIsFreed(t *testing.T) {
	s := jobstest.Start(t)
	body, media := jobstest.Form("cat")
	first := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted)
	job, err := s.Store.Job(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.DropKey(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	kv, err := s.Store.Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), stream.JobRecord(first.ID)); err != nil {
		t.Fatal(err)
	}
	if again := s.Job(s.Send(body, media, key, "k"), http.StatusAccepted); again.ID == first.ID {
		t.Error("it is the job that was deleted")
	}
}
