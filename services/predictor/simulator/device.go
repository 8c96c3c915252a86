package simulator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// device is the accelerator of one version.
type device struct {
	settings
	idle    chan waiter // one for each instance that runs nothing
	batches atomic.Int64
	close   func() // called when nothing runs; only the first call counts
}

func newDevice(s settings, newOne func() (waiter, error)) (*device, error) {
	d := &device{settings: s, idle: make(chan waiter, s.instances)}
	d.close = sync.OnceFunc(d.free)
	for range s.instances {
		w, err := newOne()
		if err != nil {
			d.close()
			return nil, err
		}
		d.idle <- w
	}
	return d, nil
}

func (d *device) free() {
	close(d.idle)
	for w := range d.idle {
		w.close()
	}
}

// run is a batcher.Execute. That a batch has an instance to itself is the
// batcher's doing, but an accelerator holds to it whoever calls.
func (d *device) run(ctx context.Context, inputs []oip.Tensor) (outputs []oip.Tensor, _ time.Duration, err error) {
	select {
	case w := <-d.idle:
		defer func() { d.idle <- w }()
		outputs, err = d.runOn(ctx, w, inputs)
		return outputs, 0, err
	case <-ctx.Done():
		return nil, 0, failure.OfContext(ctx)
	}
}

func (d *device) runOn(ctx context.Context, w waiter, inputs []oip.Tensor) ([]oip.Tensor, error) {
	n := d.items(inputs)
	end := time.Now().Add(d.fixed + time.Duration(n)*d.perItem)
	number := d.batches.Add(1)
	if err := d.fits(n); err != nil {
		return nil, err
	}
	if d.faulty(number, inputs, n) {
		return d.fail(ctx, w, number, inputs, n, end)
	}
	return d.answer(ctx, w, inputs, n, end)
}

// answer makes the outputs while the time passes.
func (d *device) answer(ctx context.Context, w waiter, inputs []oip.Tensor, n int64, end time.Time) ([]oip.Tensor, error) {
	outputs, err := d.tensors(inputs, n)
	if err != nil {
		return nil, err
	}
	if err := w.until(ctx, end); err != nil {
		return nil, err
	}
	return outputs, nil
}

// items is the size of a batch.
func (d *device) items(inputs []oip.Tensor) int64 {
	if !d.batching || len(inputs) == 0 || len(inputs[0].Shape) == 0 {
		return 1
	}
	return inputs[0].Shape[0]
}
