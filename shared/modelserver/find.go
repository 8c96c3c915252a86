package modelserver

import (
	"slices"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// statusOf is one of the two ways to see a version: as callers do (status), or
// by itself, whatever it leans on (life).
type statusOf func(v *version) (State, string)

// find picks a version: the one asked for, by its number or its label, or the newest that is ready. A nil
// model is one that nobody knows.
func (m *model) find(name, number string, status statusOf) (*version, error) {
	if m == nil {
		return nil, failure.New(failure.NotFound, "unknown model %s", failure.Quote(name))
	}
	if number != "" {
		n, err := m.resolve(name, number)
		if err != nil {
			return nil, err
		}
		if v := m.versions[n]; v != nil {
			return v, nil
		}
		return nil, failure.New(failure.NotFound, "unknown version %d of model %q", n, name)
	}
	versions := m.sorted()
	why := m.reason
	for _, v := range slices.Backward(versions) {
		state, reason := status(v)
		if state == Ready {
			return v, nil
		}
		if v == versions[len(versions)-1] {
			why = because(state, reason)
		}
	}
	return nil, failure.New(failure.Unavailable, "model %q is not ready: %s", name, why)
}

// resolve reads a version as callers write it: a number or a label.
func (m *model) resolve(name, version string) (int64, error) {
	if n, ok := modelconfig.ParseVersion(version); ok {
		return n, nil
	}
	if n := m.labels[version]; n != 0 {
		return n, nil
	}
	if modelconfig.IsLabel(version) {
		return 0, failure.New(failure.NotFound, "model %q has no version with the label %q", name, version)
	}
	return 0, failure.New(failure.Invalid, "version %s of model %q is not a whole number above 0", failure.Quote(version), name)
}

// because is why a version in a state that is not Ready can't serve.
func because(state State, reason string) string {
	if reason == "" {
		return "it is " + string(state)
	}
	return reason
}

// look runs a question about a model again when the model was replaced
// meanwhile: between finding a version and holding it a reload may have taken it
// out of service, and another is there in its place.
func (r *Registry) look(name string, question func(m *model) error) error {
	for {
		m := r.get(name)
		err := question(m)
		if err == nil || r.get(name) == m {
			return err
		}
	}
}

// acquire finds a version and holds it; release must follow.
func (r *Registry) acquire(name, number string, status statusOf) (v *version, err error) {
	err = r.look(name, func(m *model) error {
		if v, err = m.find(name, number, status); err != nil {
			return err
		}
		return v.hold()
	})
	return v, err
}

// Config is the completed configuration of a version that is loaded, or of the
// newest one, whether or not what it leans on lets it serve now.
func (r *Registry) Config(name, number string) (*inference.ModelConfig, error) {
	v, err := r.acquire(name, number, (*version).life)
	if err != nil {
		return nil, err
	}
	defer v.release()
	if m := r.get(name); m.version(v.number) == v {
		return m.shown(v), nil
	}
	return v.config, nil // nobody changes it once it is loaded
}
