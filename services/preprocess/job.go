package preprocess

import (
	"context"
	"fmt"
	"sync"
	"time"

	"triptych/shared/call"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// job is one request at work.
type job struct {
	model  *model
	images []source
	bytes  int64 // of all images
	bulk   bool  // it is the work of a job
	wait   sync.Once
	make   sync.Mutex
	out    []byte // nil until the first image is laid out
}

// begin queues a request. It is busy when too many wait or hold too much.
func (m *model) begin(ctx context.Context, images []source) (*job, error) {
	j := &job{model: m, images: images, bulk: call.Of(ctx).Bulk}
	for i := range images {
		j.bytes += int64(len(images[i].data))
	}
	if j.bulk {
		m.backend.queue.EnterBulk(j.bytes)
	} else if err := m.backend.queue.Enter(j.bytes); err != nil {
		return nil, err
	}
	m.pending.Add(1)
	return j, nil
}

// started ends the wait of the request, when its first image is let in or when it
// gives up.
func (j *job) started() {
	j.wait.Do(func() {
		if !j.bulk {
			j.model.backend.queue.Started()
		}
		j.model.pending.Add(-1)
	})
}

// end gives back what begin took.
func (j *job) end() {
	j.started()
	if j.bulk {
		j.model.backend.queue.LeaveBulk(j.bytes)
		return
	}
	j.model.backend.queue.Leave(j.bytes)
}

// part is the memory of one image's result. It is made when the first image is
// about to be laid out, so that requests that wait or give up, or whose image
// is broken, hold none beside their own.
func (j *job) part(index int) []byte {
	size := j.model.plan.transform.Bytes()
	j.make.Lock()
	defer j.make.Unlock()
	if j.out == nil {
		j.out = make([]byte, len(j.images)*size)
	}
	return j.out[index*size : (index+1)*size]
}

// run works on all images and tells where the time went. For a batch, whose
// images overlap, the time that passed is divided as the images' times are.
func (j *job) run(ctx context.Context) (modelserver.Timing, error) {
	begin := time.Now()
	var t modelserver.Timing
	err := j.open(ctx)
	if err == nil {
		t, err = j.each(ctx)
	}
	for i := range j.images {
		t.ComputeInput += j.images[i].opened
	}
	total := t.Queue + t.Compute()
	if len(j.images) > 1 && total > 0 {
		share := float64(time.Since(begin)) / float64(total)
		for _, d := range []*time.Duration{&t.Queue, &t.ComputeInput, &t.ComputeInfer} {
			*d = time.Duration(float64(*d) * share)
		}
	}
	t.Batch, t.Executions = len(j.images), 1
	return t, err
}

// each runs the images, several at once.
func (j *job) each(ctx context.Context) (modelserver.Timing, error) {
	if len(j.images) == 1 {
		return j.one(ctx, 0)
	}
	p := &progress{errs: make([]error, len(j.images))}
	var wg sync.WaitGroup
	for range min(len(j.images), j.model.backend.cfg.Workers) {
		wg.Go(func() {
			for index, ok := p.claim(); ok; index, ok = p.claim() {
				t, err := j.one(ctx, index)
				p.record(index, t, err)
			}
		})
	}
	wg.Wait()
	return p.sum, j.firstOf(p.errs)
}

// progress hands out a batch's images in order. After a failure it hands out no
// more; all before the failed one have been, so the first bad image is always the
// one named.
type progress struct {
	mu   sync.Mutex
	next int
	sum  modelserver.Timing
	errs []error
}

func (p *progress) claim() (index int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= len(p.errs) {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

func (p *progress) record(index int, t modelserver.Timing, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Queue += t.Queue
	p.sum.ComputeInput += t.ComputeInput
	p.sum.ComputeInfer += t.ComputeInfer
	if err != nil {
		p.errs[index] = err
		p.next = len(p.errs)
	}
}

// firstOf is the failure of the first bad image.
func (j *job) firstOf(errs []error) error {
	for i, err := range errs {
		if err != nil {
			return j.named(i, err)
		}
	}
	return nil
}

// named is a failure with the index of its image, in a batch. Failures of the whole
// request stay as they are.
func (j *job) named(index int, err error) error {
	switch kind := failure.KindOf(err); {
	case len(j.images) == 1 || kind == failure.Cancelled || kind == failure.Deadline:
		return err
	default:
		return failure.Prefix(fmt.Sprintf("image %d", index), err)
	}
}
