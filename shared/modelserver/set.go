package modelserver

import (
	"context"
	"errors"
	"maps"
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// model is a name and its versions. A model whose configuration can't be used
// has a reason and no versions. It is replaced, never changed; its versions
// change their states.
type model struct {
	versions map[int64]*version
	reason   string
	config   *inference.ModelConfig // as the repository has it: what versions share
	labels   map[string]int64       // versions by their labels
	extra    bool                   // nobody was promised it before it has served
}

// version is the one of a number; nil when there is none.
func (m *model) version(n int64) *version {
	if m == nil {
		return nil
	}
	return m.versions[n]
}

// beside are the versions of m that other does not have.
func (m *model) beside(other *model) []*version {
	return slices.DeleteFunc(m.sorted(), func(v *version) bool { return other.version(v.number) == v })
}

// promised is m after a load that went well: what serves is promised from now on,
// and a remark about an earlier load that failed no longer holds.
func (m *model) promised() *model {
	p := *m
	p.extra = false
	for _, v := range p.versions {
		v.note("")
	}
	return &p
}

// sorted are the versions, oldest first. A nil model has none.
func (m *model) sorted() []*version {
	if m == nil {
		return nil
	}
	numbers := slices.Sorted(maps.Keys(m.versions))
	versions := make([]*version, len(numbers))
	for i, n := range numbers {
		versions[i] = m.versions[n]
	}
	return versions
}

// serving tells whether a version is in service, whatever it leans on.
func (m *model) serving() bool {
	return slices.ContainsFunc(m.sorted(), (*version).inService)
}

// retire takes the versions out of service at once, then waits for their calls
// and closes them.
func retire(ctx context.Context, versions []*version) error {
	leaving := slices.DeleteFunc(versions, func(v *version) bool { return !v.leave() })
	var failed error
	for _, v := range leaving {
		failed = errors.Join(failed, v.drain(ctx))
	}
	return failed
}

// remark shows with the versions that serve why the last load did nothing.
func (m *model) remark(err error) {
	for _, v := range m.sorted() {
		if v.inService() {
			v.note("the last load failed: " + failure.Message(err))
		}
	}
}

// partly is m after a load of which something failed. What served goes on as it is,
// unless its folder is gone; a version that is new and loaded well joins it; what did
// not load is shown. A new version that failed is spare: nobody was promised it.
func (m *model) partly(fresh *model, there []int64) *model {
	next := &model{versions: map[int64]*version{}, config: m.config, labels: m.labels, extra: m.extra}
	for n, v := range m.versions {
		if slices.Contains(there, n) || fresh.versions[n] != nil {
			next.versions[n] = v
		}
	}
	for n, v := range fresh.versions {
		reason, failed := v.broken()
		old := next.versions[n]
		switch {
		case old != nil && old.inService() && failed:
			old.note("the last load failed: " + reason)
		case old != nil && old.inService():
			// It was to change, but not all that was to change with it could.
		default:
			v.spare = failed
			next.versions[n] = v
		}
	}
	if next.serves(fresh.labels) {
		next.labels = fresh.labels
	}
	if !next.serving() {
		return m.partly(fresh, slices.Collect(maps.Keys(m.versions))) // better an old version than none
	}
	return next
}

// serves tells whether all labels are those of versions in service.
func (m *model) serves(labels map[string]int64) bool {
	for _, n := range labels {
		if v := m.versions[n]; v == nil || !v.inService() {
			return false
		}
	}
	return true
}

// unloaded is m after it was taken out of service on purpose: what had failed is
// no longer promised either.
func (m *model) unloaded() *model {
	if len(m.versions) == 0 {
		return &model{reason: Unloaded, extra: true}
	}
	for _, v := range m.versions {
		if _, failed := v.broken(); failed {
			v.failed(Unloaded)
		}
	}
	u := *m
	u.extra = true
	return &u
}
