package engine

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"triptych/shared/failure"
	"triptych/shared/oip"
)

// The values of the parameter "wide_session", the first is the default.
var wideSessions = []string{"auto", "true", "false"}

// widened is the tuning of a second session of a model on the CPU, for runs that
// are alone: one at a time, on all cores, by threads that wait busily for each
// other during a run and sleep between two. False when there is none.
func (t tuning) widened(cores int, p placement, bytes, most int64) (tuning, bool) {
	first := t.at(cores, p)
	switch {
	case p.device.GPU() || first.intra >= cores || t.wide == "false":
		return tuning{}, false
	case t.wide == "auto" && (t.intra > 0 || t.parallel || p.count > 0 || bytes > most):
		return tuning{}, false
	}
	t.instances, t.intra, t.spin = 1, cores, t.spin || !t.spinSaid
	entries := map[string]string{"session.force_spinning_stop": "1"}
	maps.Copy(entries, t.entries)
	t.entries = entries
	return t, true
}

// openWide opens the session for runs that are alone, if the model should have
// one. The model can do without: that it fails is for the log.
func (s *Session) openWide(ctx context.Context, load *loader, p placement) *replica {
	t, ok := load.tuning.widened(Cores(), p, load.bytes, load.wideBytes)
	if !ok {
		return nil
	}
	r, err := openReplica(load, p, t)
	if err == nil {
		if err = s.probe(ctx, r, 0); err == nil {
			return r
		}
		_ = r.close()
	}
	if failure.OfContext(ctx) == nil {
		s.logger.Warn("model has no wide session", "error", err)
	}
	return nil
}

// weigh is the size of a version's folder: of the model's file and its weights
// beside it.
func weigh(file string) (bytes int64) {
	_ = filepath.WalkDir(filepath.Dir(file), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what can't be seen has no size; the load itself tells of what it misses
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// seat is a replica in one of its gears.
type seat struct {
	*replica
	gear int
}

// everywhere are all seats that a run may come to.
func (s *Session) everywhere() []seat {
	var all []seat
	for _, r := range s.replicas {
		all = append(all, seat{r, narrow})
		if r.wide != nil {
			all = append(all, seat{r, wide})
		}
	}
	return all
}

// runThere runs a batch in a seat, for warming up.
func (s *Session) runThere(ctx context.Context, at seat, inputs []oip.Tensor) ([]oip.Tensor, error) {
	if at.device.GPU() {
		outputs, _, err := s.run(ctx, at.replica, inputs, true)
		return outputs, err
	}
	s.traffic.begin()
	outputs, _, err := s.inGear(ctx, at.replica, at.gear, inputs)
	return outputs, err
}

// runOn runs a batch on a replica, in the gear that suits the traffic: in the wide
// one when it is alone and gains by that.
func (s *Session) runOn(ctx context.Context, r *replica, inputs []oip.Tensor) (outputs []oip.Tensor, work time.Duration, err error) {
	if r.device.GPU() {
		s.tell(ctx, r)
		return s.run(ctx, r, inputs, true)
	}
	gear := narrow
	if alone := s.traffic.begin(); alone && r.wide != nil {
		gear = r.gain.choose()
	}
	return s.inGear(ctx, r, gear, inputs)
}

// inGear runs a batch and learns what it took, if it was alone. The traffic has
// counted it.
func (s *Session) inGear(ctx context.Context, r *replica, gear int, inputs []oip.Tensor) (outputs []oip.Tensor, work time.Duration, err error) {
	begun := time.Now()
	defer func() { // whatever the binding does: what is counted must end
		if alone := s.traffic.end(); alone && outputs != nil && r.wide != nil {
			r.gain.learn(gear, sizeOf(inputs), time.Since(begun))
		}
	}()
	on := r // the session
	if gear == wide {
		on = r.wide
	}
	s.tell(ctx, on)
	threads := on.tuning.intra
	if on.tuning.parallel {
		threads = max(threads, on.tuning.inter)
	}
	s.usage.add(threads)
	defer s.usage.add(-threads)
	return s.run(ctx, on, inputs, true)
}

func sizeOf(inputs []oip.Tensor) (bytes int64) {
	for _, in := range inputs {
		bytes += int64(len(in.Data))
	}
	return bytes
}
