package upstream

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
)

// Catalog is what the upstreams serve, as the last round of asking found it. It
// never changes: a new round makes a new one.
type Catalog struct {
	models map[string]map[string]*served // by name and version
	away   []string                      // upstreams that did not answer
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

func newCatalog(reports []report) *Catalog {
	c := &Catalog{models: map[string]map[string]*served{}}
	for _, r := range reports {
		if r.err != nil {
			c.away = append(c.away, failure.Message(r.err))
		}
		for _, m := range r.index {
			c.add(r, m)
		}
	}
	slices.Sort(c.away)
	c.away = slices.Compact(c.away)
	return c
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
	if !slices.Contains(s.pools, r.pool) {
		s.pools = append(s.pools, r.pool)
	}
	state, reason := modelserver.State(m.GetState()), m.GetReason()
	if r.err != nil {
		state, reason = modelserver.Unavailable, failure.Message(r.err)
	}
	if state == modelserver.Ready && !slices.Contains(s.ready, r.pool) {
		s.ready = append(s.ready, r.pool)
	}
	if s.state == "" || state == modelserver.Ready {
		s.state, s.reason = state, reason
	}
	if cfg := r.configs[key{m.GetName(), m.GetVersion()}]; cfg != nil {
		s.config = cfg
	}
}

// Has tells whether an upstream claims the model.
func (c *Catalog) Has(name string) bool { return len(c.models[name]) > 0 }

// Away lists what is wrong with the upstreams that did not answer.
func (c *Catalog) Away() []string { return c.away }

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
		return nil, failure.New(failure.Unavailable, "model %q is not served by any upstream that answers: %s", name, strings.Join(c.away, "; "))
	case s == nil:
		return nil, failure.New(failure.Unavailable, "model %q%s is served by no upstream", name, ofVersion(version))
	case s.state != modelserver.Ready || s.config == nil:
		return nil, failure.New(failure.Unavailable, "model %q%s is not ready: %s", name, ofVersion(version), s.reason)
	}
	return s.config, nil
}

func ofVersion(version string) string {
	if version == "" {
		return ""
	}
	return " version " + version
}

// latest is the highest version that is ready, or, when none is, the highest.
func latest(versions map[string]*served) string {
	best, bestReady := int64(-1), false
	for v, s := range versions {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			n = 0 // a model without a version, known for its failure alone
		}
		ready := s.state == modelserver.Ready
		if (ready && !bestReady) || (ready == bestReady && n > best) {
			best, bestReady = n, ready
		}
	}
	if best < 1 {
		return ""
	}
	return strconv.FormatInt(best, 10)
}

// Index lists every version that an upstream claims.
func (c *Catalog) Index() []*inference.RepositoryIndexResponse_ModelIndex {
	var index []*inference.RepositoryIndexResponse_ModelIndex
	for _, name := range slices.Sorted(maps.Keys(c.models)) {
		for _, version := range slices.Sorted(maps.Keys(c.models[name])) {
			s := c.models[name][version]
			index = append(index, &inference.RepositoryIndexResponse_ModelIndex{Name: name, Version: version, State: string(s.state), Reason: s.reason})
		}
	}
	return index
}

// pools are where a call can go: where the version is ready now or, since
// the catalog may be a moment old, where it is claimed.
func (c *Catalog) pools(name, version string) []*pool {
	versions := c.models[name]
	if version != "" {
		if s := versions[version]; s != nil {
			return preferred(s)
		}
		// Not known by this number: whoever claims the model says so best.
		version = ""
	}
	var all []*pool
	for _, s := range versions {
		for _, p := range preferred(s) {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b *pool) int { return strings.Compare(a.name, b.name) })
	return all
}

func preferred(s *served) []*pool {
	if len(s.ready) > 0 {
		return s.ready
	}
	return s.pools
}

// same tells whether two catalogs serve the same versions with the same
// configurations.
func (c *Catalog) same(d *Catalog) bool {
	if !slices.Equal(c.away, d.away) {
		return false
	}
	return maps.EqualFunc(c.models, d.models, func(a, b map[string]*served) bool {
		return maps.EqualFunc(a, b, func(x, y *served) bool {
			return x.state == y.state && x.reason == y.reason && x.config == y.config
		})
	})
}
