package upstream

import (
	"triptych/proto/inference"
	"triptych/shared/modelconfig"
)

// addLabels notes where the labels of one replica's version lead: a label is one
// more name of the version. The replica itself knows to which it leads, so that a
// label that moves from one replica to the next is right at each.
func (c *Catalog) addLabels(s report, m *inference.RepositoryIndexResponse_ModelIndex, ready bool) {
	cfg := s.configs[key{m.GetName(), m.GetVersion()}]
	if cfg.GetParameters()[modelconfig.LabelsParameter] == nil {
		return
	}
	labels, err := modelconfig.VersionLabels(cfg)
	if err != nil {
		return // a server that is not ours
	}
	for label, version := range labels {
		if version != number(m.GetVersion()) {
			continue
		}
		named := c.labels[key{m.GetName(), label}]
		if named == nil {
			named = &served{}
			c.labels[key{m.GetName(), label}] = named
		}
		if named.config == nil {
			named.config = cfg
		}
		named.claim = once(named.claim, s.replica)
		if ready {
			named.ready = once(named.ready, s.replica)
		}
	}
}
