package target

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"triptych/loadtest/bench/jobs/api"
	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/shared/failure"
)

// JobFault is the kind of error of a job that ended with items that have no
// answer.
const JobFault = "job with failed items"

// jobs sends images as jobs, and follows each to its end.
type jobs struct {
	client   *api.Client
	settings url.Values
	images   [][]byte
	items    int
	check    Judge
	next     atomic.Int64
}

// Judge checks the labels of image n. It may be called concurrently.
type Judge func(n int, labels []string) error

// NewJobs prepares jobs of so many images each, which only Triptych's gateway
// takes: a request is a job from its first byte to its last verdict. The images go
// in turn from job to job. A check may be nil. It sends nothing.
func NewJobs(o Options, images []sample.Image, items int, check Judge) (Target, error) {
	if o.Protocol == GRPC {
		return nil, failure.New(failure.Invalid, "jobs are sent over HTTP: the protocol must be classify or rest")
	}
	base, err := httpURL(o.URL)
	if err != nil {
		return nil, err
	}
	j := &jobs{client: api.New(base.String()), settings: jobSettings(o), items: items, check: check}
	j.client.Header = o.headers()
	for _, image := range images {
		j.images = append(j.images, image.Data)
	}
	return j, nil
}

func jobSettings(o Options) url.Values {
	v := url.Values{"model": {o.Model}}
	if o.Version != "" {
		v.Set("version", o.Version)
	}
	if o.Priority > 0 {
		v.Set("priority", strconv.FormatUint(o.Priority, 10))
	}
	if o.Timeout > 0 {
		v.Set("deadline", o.Timeout.String())
	}
	return v
}

// Close ends the idle connections.
func (j *jobs) Close() error {
	j.client.Close()
	return nil
}

// Do sends a job and waits for its end. The images are those that are next, not n.
func (j *jobs) Do(ctx context.Context, _ int) (measure.Answer, error) {
	first := int(j.next.Add(int64(j.items))-int64(j.items)) % len(j.images)
	form := api.NewForm(append(j.images[first:len(j.images):len(j.images)], j.images[:first]...), j.items)
	status, err := j.client.SubmitWith(ctx, j.settings, form)
	if err != nil {
		return measure.Answer{}, jobFault(err)
	}
	answers := verdicts{check: j.check, images: len(j.images), first: first, seen: make([]bool, j.items)}
	if err := j.client.Follow(ctx, status.ID, answers.add); err != nil {
		return measure.Answer{}, jobFault(err)
	}
	return measure.Answer{Sent: int(form.Size()), Items: j.items}, answers.fault(status.ID)
}

// verdicts are those of one job.
type verdicts struct {
	check         Judge
	images, first int
	seen          []bool
	good, failed  int
	why           string
	wrong         error
}

func (v *verdicts) add(r api.Result) {
	switch {
	case r.Item < 0 || r.Item >= len(v.seen):
		v.wrong = bad(fmt.Sprintf("the job has no item %d", r.Item))
	case v.seen[r.Item]:
		v.wrong = bad(fmt.Sprintf("item %d has two verdicts", r.Item))
	case r.State != "succeeded":
		v.seen[r.Item] = true
		v.failed++
		v.why = strings.TrimSpace(r.State + " " + r.Error.Message)
	default:
		v.seen[r.Item] = true
		v.good++
		if v.check != nil && v.wrong == nil {
			v.wrong = v.check((v.first+r.Item)%v.images, r.Labels())
		}
	}
}

// fault is what was wrong with the job, or nil.
func (v *verdicts) fault(id string) error {
	missing := len(v.seen) - v.good - v.failed
	switch {
	case v.wrong != nil:
		return v.wrong
	case missing > 0:
		return bad(fmt.Sprintf("job %s has ended, and %d of %d items have no verdict", id, missing, len(v.seen)))
	case v.failed > 0:
		return &measure.Fault{Kind: JobFault, Message: fmt.Sprintf("%d of %d, such as: %s", v.failed, len(v.seen), v.why)}
	default:
		return nil
	}
}

func jobFault(err error) error {
	var refusal *api.Refusal
	if errors.As(err, &refusal) {
		return httpFault(refusal.Status, refusal.Body)
	}
	return connectionFault(err)
}
