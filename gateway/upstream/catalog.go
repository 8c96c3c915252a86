package upstream

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/modelserver"
)

// Catalog is what the upstreams serve, as the last round of asking found it. It
// never changes: a new round makes a new one.
type Catalog struct {
	models map[string]map[string]*served // by name and version
	labels map[key]*served               // by name and label
	away   []error                       // upstreams of which nobody answered
	// Generation differs from one catalog to the next only when the served
	// versions do.
	Generation uint64
}

// served is one version over all replicas.
type served struct {
	state  modelserver.State
	reason string
	config *inference.ModelConfig
	claim  []*replica // that have it in any state
	ready  []*replica // that can serve it now
}

func newCatalog(answers []answer) *Catalog {
	c := &Catalog{models: map[string]map[string]*served{}, labels: map[key]*served{}}
	for _, a := range answers {
		if a.away != nil {
			c.away = append(c.away, a.away)
		}
		c.addAll(a, func(r report) bool { return r.err == nil })
	}
	// One that answers says more than one that does not.
	for _, a := range answers {
		c.addAll(a, func(r report) bool { return r.err != nil })
	}
	return c
}

func (c *Catalog) addAll(a answer, wanted func(report) bool) {
	for _, r := range a.reports {
		if !wanted(r) {
			continue
		}
		for _, m := range r.index {
			c.add(r, m)
		}
	}
}

// add joins one replica's word to what the others said: one that is ready makes
// the version ready.
func (c *Catalog) add(r report, m *inference.RepositoryIndexResponse_ModelIndex) {
	versions := c.models[m.GetName()]
	if versions == nil {
		versions = map[string]*served{}
		c.models[m.GetName()] = versions
	}
	s := versions[m.GetVersion()]
	if s == nil {
		s = &served{}
		versions[m.GetVersion()] = s
	}
	state, reason := modelserver.State(m.GetState()), m.GetReason()
	if r.err != nil {
		state, reason = modelserver.Unavailable, failure.Message(r.err)
	}
	ready := state == modelserver.Ready
	s.claim = once(s.claim, r.replica)
	if ready {
		s.ready = once(s.ready, r.replica)
	}
	if s.state == "" || (ready && s.state != modelserver.Ready) {
		s.state, s.reason = state, reason
	}
	if s.config == nil && ready {
		s.config = r.configs[key{m.GetName(), m.GetVersion()}]
	}
	c.addLabels(r, m, ready)
}

// once adds a replica whose turn it is, though its index may name a version twice.
func once(replicas []*replica, r *replica) []*replica {
	if n := len(replicas); n > 0 && replicas[n-1] == r {
		return replicas
	}
	return append(replicas, r)
}

// Has tells whether an upstream claims the model.
func (c *Catalog) Has(name string) bool { return len(c.models[name]) > 0 }

// Config is the configuration of a version, or of the latest one that is ready;
// Unavailable when there is none, with the reason.
func (c *Catalog) Config(name, version string) (*inference.ModelConfig, error) {
	versions := c.models[name]
	if version == "" {
		version = latest(versions)
	}
	s := versions[version]
	switch {
	case s == nil && len(c.away) > 0:
		return nil, failure.New(failure.Unavailable, "model %q%s is not served: %s", name, ofVersion(version), failure.Message(c.away[0]))
	case s == nil:
		return nil, failure.New(failure.Unavailable, "model %q%s is served by no upstream", name, ofVersion(version))
	case s.state != modelserver.Ready || s.config == nil:
		return nil, failure.New(failure.Unavailable, "model %q%s is not ready: %s", name, ofVersion(version), because(s))
	}
	return s.config, nil
}

func because(s *served) string {
	switch {
	case s.reason != "":
		return s.reason
	case s.state == modelserver.Ready:
		return "its configuration is not known yet"
	}
	return "it is " + string(s.state)
}

func ofVersion(version string) string {
	if version == "" {
		return ""
	}
	return " version " + version
}

// number is a version for comparing: 0 for a model without one, which is known
// for its failure alone.
func number(version string) int64 {
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// latest is the highest version that is ready, or, when none is, the highest.
func latest(versions map[string]*served) string {
	best := ""
	for v, s := range versions {
		b := versions[best]
		ready, bestReady := s.state == modelserver.Ready, b != nil && b.state == modelserver.Ready
		if (ready && !bestReady) || (ready == bestReady && number(v) > number(best)) {
			best = v
		}
	}
	return best
}

// Index lists every version that an upstream claims.
func (c *Catalog) Index() []*inference.RepositoryIndexResponse_ModelIndex {
	var index []*inference.RepositoryIndexResponse_ModelIndex
	for _, name := range slices.Sorted(maps.Keys(c.models)) {
		versions := c.models[name]
		byNumber := func(a, b string) int { return cmp.Compare(number(a), number(b)) }
		for _, version := range slices.SortedFunc(maps.Keys(versions), byNumber) {
			s := versions[version]
			index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: name, Version: version, State: string(s.state), Reason: s.reason})
		}
	}
	return index
}

// claiming are the pools with a replica that has a model in any state.
func (c *Catalog) claiming(name string) []*pool {
	var pools []*pool
	for _, r := range join(c.models[name], func(s *served) []*replica { return s.claim }) {
		if !slices.Contains(pools, r.pool) {
			pools = append(pools, r.pool)
		}
	}
	return pools
}

// running are the pools with a replica that has a model of a backend ready.
func (c *Catalog) running(backend string) []*pool {
	var pools []*pool
	for _, versions := range c.models {
		for _, s := range versions {
			if s.config == nil || modelconfig.BackendOf(s.config) != backend {
				continue
			}
			for _, r := range s.ready {
				if !slices.Contains(pools, r.pool) {
					pools = append(pools, r.pool)
				}
			}
		}
	}
	return pools
}

// target is where the calls of a version can go.
type target struct {
	key      key // with the version that is the latest now, if none was asked for
	replicas []*replica
	ready    bool // they have it ready, as far as is known
	pure     bool // the same request has the same answer, wherever and how often it runs
}

// find finds where a call can go, over all pools: where the version is ready now or,
// since the catalog may be a moment old, where it is claimed.
func (c *Catalog) find(name, version string) target {
	versions := c.models[name]
	if version == "" {
		version = latest(versions)
	}
	s := versions[version]
	if s == nil {
		s = c.labels[key{name, version}]
	}
	if s != nil {
		return target{key{name, version}, preferred(s), len(s.ready) > 0, pure(s.config)}
	}
	// Not known by this name: whoever claims the model says so best.
	return target{key{name, version}, join(versions, preferred), false, false}
}

// pure tells whether a model's requests may run twice. One with sequences has a
// state, and a decoupled one answers as often as it wants.
func pure(cfg *inference.ModelConfig) bool {
	return cfg != nil && cfg.GetSequenceBatching() == nil && !cfg.GetModelTransactionPolicy().GetDecoupled()
}

func preferred(s *served) []*replica {
	if len(s.ready) > 0 {
		return s.ready
	}
	return s.claim
}

// join is every replica that pick gives for a version, once, in any order.
func join(versions map[string]*served, pick func(*served) []*replica) []*replica {
	var all []*replica
	for _, s := range versions {
		for _, r := range pick(s) {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// same tells whether two catalogs serve the same versions with the same
// configurations, at the same places.
func (c *Catalog) same(d *Catalog) bool {
	awayEqual := slices.EqualFunc(c.away, d.away, func(x, y error) bool { return failure.Message(x) == failure.Message(y) })
	return awayEqual && maps.EqualFunc(c.models, d.models, func(a, b map[string]*served) bool {
		return maps.EqualFunc(a, b, (*served).same)
	})
}

func (s *served) same(t *served) bool {
	return s.state == t.state && s.reason == t.reason && slices.Equal(s.ready, t.ready) &&
		(s.config == t.config || proto.Equal(s.config, t.config))
}
