package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"
)

// Reply is what a gateway answered to a job.
type Reply struct {
	// Status is 0 when nobody answered.
	Status     int
	RetryAfter string
	ID         string
	Body       string
}

// Send sends a job once, to the n-th gateway, and keeps it when it is accepted.
func (l *Ledger) Send(ctx context.Context, n int, job Job) Reply {
	l.tb.Helper()
	body, contentType, err := l.body(job)
	if err != nil {
		l.tb.Error(err)
		return Reply{}
	}
	url := "http://" + l.gateways[n%len(l.gateways)] + "/v1/jobs?model=" + job.Model + "&" + job.Query
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		l.tb.Error(err)
		return Reply{}
	}
	req.Header.Set("Content-Type", contentType)
	if job.Key != "" {
		req.Header.Set("Idempotency-Key", job.Key)
	}
	reply := l.do(req)
	l.keep(job, &reply)
	return reply
}

func (l *Ledger) do(req *http.Request) Reply {
	resp, err := l.client.Do(req)
	if err != nil {
		return Reply{Body: err.Error()}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{Body: err.Error()} // cut short: nothing is known
	}
	reply := Reply{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Body: string(data)}
	var document struct {
		ID string `json:"id"`
	}
	if reply.Status == http.StatusAccepted {
		if err := json.Unmarshal(data, &document); err != nil || document.ID == "" {
			l.tb.Errorf("202 without an id: %s", data)
		}
		reply.ID = document.ID
	}
	return reply
}

func (l *Ledger) keep(job Job, reply *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reply.Status == http.StatusAccepted {
		if before, ok := l.accepted[reply.ID]; ok && before.Key != job.Key {
			l.tb.Errorf("job %s was given to two", reply.ID)
		}
		l.accepted[reply.ID] = job
		return
	}
	l.refused[reply.Status]++
	if (reply.Status == http.StatusTooManyRequests || reply.Status == http.StatusServiceUnavailable) && !positive(reply.RetryAfter) {
		l.tb.Errorf("%d has the Retry-After %q", reply.Status, reply.RetryAfter)
	}
	if reply.Status >= 400 && reply.Status < 500 && reply.Status != http.StatusTooManyRequests || reply.Status == http.StatusInternalServerError {
		l.tb.Errorf("a good job is answered %d: %s", reply.Status, reply.Body)
	}
}

func positive(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0
}

func (l *Ledger) body(job Job) (body io.Reader, contentType string, err error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i, item := range job.Items {
		name := item.Name
		if name == "" {
			name = fmt.Sprintf("%d-%d.png", i, item.Picture)
		}
		part, err := form.CreateFormFile("file", name)
		if err != nil {
			return nil, "", err
		}
		picture, err := item.file()
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(picture); err != nil {
			return nil, "", err
		}
	}
	return &b, form.FormDataContentType(), form.Close()
}

// pause lies between two attempts of Deliver.
const pause = 200 * time.Millisecond

// Deliver sends a job as a careful client does: with an Idempotency-Key, and again,
// to the next gateway, until it is accepted, is refused for good, or ctx ends. It
// gives the job's id, empty if it was not accepted.
func (l *Ledger) Deliver(ctx context.Context, job Job) string {
	l.tb.Helper()
	if job.Key == "" {
		l.mu.Lock()
		l.keys++
		job.Key = fmt.Sprintf("key-%d", l.keys)
		l.mu.Unlock()
	}
	for n := 0; ctx.Err() == nil; n++ {
		reply := l.Send(ctx, n, job)
		if reply.Status == http.StatusAccepted || reply.Status >= 400 && reply.Status < 500 && reply.Status != http.StatusTooManyRequests {
			return reply.ID
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return ""
}
