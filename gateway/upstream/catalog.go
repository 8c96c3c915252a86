package upstream

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// Catalog is what the upstreams serve, as the last round of asking found it. It
// never changes: a new round makes a new one.
type Catalog struct {
	models map[string]map[string]*served // by name and version
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
	pools  []*pool // that claim it
	ready  []*pool // that can serve it now
}

func newCatalog(answers []answer) *Catalog {
	c := &Catalog{models: map[string]map[string]*served{}}
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
		for _, m := range r.index {
			if wanted(r) {
				c.add(a.pool, r, m)
			}
		}
	}
}

// add joins one replica's word to what the others said: one that is ready makes
// the version ready.
func (c *Catalog) add(p *pool, r report, m *inference.RepositoryIndexResponse_ModelIndex) {
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
	if !slices.Contains(s.pools, p) {
		s.pools = append(s.pools, p)
	}
	state, reason := modelserver.State(m.GetState()), m.GetReason()
	if r.err != nil {
		state, reason = modelserver.Unavailable, failure.Message(r.err)
	}
	ready := state == modelserver.Ready
	if ready && !slices.Contains(s.ready, p) {
		s.ready = append(s.ready, p)
	}
	if s.state == "" || (ready && s.state != modelserver.Ready) {
		s.state, s.reason = state, reason
	}
	if s.config == nil && ready {
		s.config = r.configs[key{m.GetName(), m.GetVersion()}]
	}
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
	if s.reason == "" {
		return "it is " + string(s.state)
	}
	return s.reason
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

// claiming are the pools that claim a model in any state.
func (c *Catalog) claiming(name string) []*pool {
	return join(c.models[name], func(s *served) []*pool { return s.pools })
}

// pools are where a call can go: where the version is ready now or, since
// the catalog may be a moment old, where it is claimed.
func (c *Catalog) pools(name, version string) []*pool {
	versions := c.models[name]
	if version == "" {
		version = latest(versions)
	}
	if s := versions[version]; s != nil {
		return preferred(s)
	}
	// Not known by this number: whoever claims the model says so best.
	return join(versions, preferred)
}

func preferred(s *served) []*pool {
	if len(s.ready) > 0 {
		return s.ready
	}
	return s.pools
}

// join is every pool that pick gives for a version, once, by name.
func join(versions map[string]*served, pick func(*served) []*pool) []*pool {
	var all []*pool
	for _, s := range versions {
		for _, p := range pick(s) {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b *pool) int { return cmp.Compare(a.name, b.name) })
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
