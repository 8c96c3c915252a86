package engine

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
)

// replica is a model on one device: the runtime's session, which all instances
// there share with its weights. On the CPU there may be another session for runs
// that are alone. Safe for concurrent use.
type replica struct {
	device  Device
	tuning  tuning
	api     api
	logger  *slog.Logger
	session *ort.DynamicAdvancedSession
	tide    tide
	wide    *replica // the other session, if there is one
	gain    gain     // of the wide session
	running int      // runs that are going on; guarded by the Session's lock
	// calm is held for reading by each run, and for writing by who gives memory back.
	calm sync.RWMutex

	mu    sync.Mutex
	slots []*slot // of runs that are over
}

// openReplica makes the runtime's session.
func openReplica(l *loader, p placement, t tuning) (*replica, error) {
	r := &replica{device: p.device, tuning: t, api: l.library.api, logger: l.logger}
	options, err := r.tuning.options(p.device).open()
	if err != nil {
		return nil, failure.Prefix("model "+strconv.Quote(l.cfg.GetName()), err)
	}
	defer discard(options)
	r.session, err = ort.NewDynamicAdvancedSession(l.file, tensorNames(l.contract.inputs), tensorNames(l.contract.outputs), options)
	if err != nil {
		return nil, unreadable(l.cfg, l.file, err)
	}
	r.tide.quiet, r.tide.spread = l.quiet, int64(r.tuning.instances)
	r.tide.ebb = func() bool { return r.ebb(l.contract) }
	return r, nil
}

// close frees the session, and the wide one. No run may be going on.
func (r *replica) close() error {
	var err error
	if r.wide != nil {
		err = r.wide.close()
	}
	r.tide.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots {
		s.close()
	}
	r.slots = nil
	return errors.Join(err, r.session.Destroy())
}

const (
	// lulls is how often an ebb looks for a moment without a run, and lullEvery the pause
	// between two looks.
	lulls     = 100
	lullEvery = 5 * time.Millisecond
)

// lull waits for a moment in which nothing runs, and keeps others from beginning until
// they are let again. Who runs all the time is not interrupted: there is none then.
func (r *replica) lull() (found bool) {
	for range lulls {
		if r.calm.TryLock() {
			return true
		}
		time.Sleep(lullEvery)
	}
	return false
}

// ebb gives back the memory that a peak has left behind. The runtime shrinks its
// arenas at the end of a run only, also of one that was stopped before its first
// operator, which costs nothing. It keeps a piece of memory of which a run has a part,
// so this waits for a lull; it is false when there is none.
func (r *replica) ebb(c *contract) (whole bool) {
	whole = r.lull()
	if r.tuning.arena {
		if err := r.shrink(c); err != nil {
			r.logger.Debug("arena not shrunk", "device", r.device.String(), "error", err)
		}
	}
	if whole {
		r.calm.Unlock()
	}
	trim()
	r.logger.Debug("memory of a peak given back", "device", r.device.String(), "whole", whole)
	return whole
}

func (r *replica) shrink(c *contract) error {
	s, err := newSlot()
	if err != nil {
		return err
	}
	defer s.close()
	if err := first(r.api.addRunConfig(s.options, shrinkKey, r.arenas()), s.options.Terminate()); err != nil {
		return err
	}
	defer s.clear()
	for i, in := range c.zeros(1) {
		if err := s.input(c.inputs[i], in); err != nil {
			return err
		}
	}
	for _, out := range c.outputs {
		if err := s.output(c, out, 1, false); err != nil {
			return err
		}
	}
	err = r.session.RunWithOptions(s.in, s.out, s.options)
	if err != nil && strings.Contains(err.Error(), "terminate flag") {
		return nil
	}
	return err
}

// arenas are the devices whose memory the session keeps, in the runtime's form.
func (r *replica) arenas() string {
	if r.device.GPU() {
		return "cpu:0;gpu:" + strconv.Itoa(r.device.ID)
	}
	return "cpu:0"
}

// begin takes a slot for a run; end must follow.
func (r *replica) begin() (*slot, error) {
	r.mu.Lock()
	if n := len(r.slots); n > 0 {
		s := r.slots[n-1]
		r.slots = r.slots[:n-1]
		r.mu.Unlock()
		return s, nil
	}
	r.mu.Unlock()
	s, err := newSlot()
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the runtime gives no options for a run")
	}
	if r.tuning.shrink != "" {
		if err := r.api.addRunConfig(s.options, shrinkKey, r.tuning.shrink); err != nil {
			s.close()
			return nil, failure.Wrap(err, failure.Internal, "the runtime takes no %s", shrinkKey)
		}
	}
	return s, nil
}

// end takes a slot back. One whose run was stopped would stop the next.
func (r *replica) end(s *slot) {
	s.clear()
	if s.stopped {
		s.close()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots = append(r.slots, s)
}

// run is the call into the runtime. It ends early when ctx does: the runtime
// looks between two operators. Work is the processor time of the run where one thread
// does all of it; else 0.
func (r *replica) run(ctx context.Context, s *slot) (work time.Duration, err error) {
	if err := failure.OfContext(ctx); err != nil {
		return 0, err
	}
	r.tide.rise(s.bytes)
	defer r.tide.fall(s.bytes)
	r.calm.RLock()
	defer r.calm.RUnlock()
	if r.tuning.oneThread(r.device) {
		defer workOf(&work)()
	}
	if ctx.Done() == nil {
		return 0, r.session.RunWithOptions(s.in, s.out, s.options)
	}
	release := context.AfterFunc(ctx, s.stop)
	// Deferred, for the options must not be freed under Terminate when the
	// binding panics.
	defer func() {
		if !release() {
			<-s.told
			s.stopped = true
		}
	}()
	return 0, r.session.RunWithOptions(s.in, s.out, s.options)
}
