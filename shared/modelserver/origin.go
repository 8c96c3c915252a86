package modelserver

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// origin is what a version was made of. Two that are the same make the same
// version.
type origin struct {
	config    *inference.ModelConfig // lasting, as it was before a backend completed it
	directory string
	files     tree
	scratch   *scratch
}

func (o origin) same(p origin) bool {
	return o.directory == p.directory && maps.Equal(o.files, p.files) && proto.Equal(o.config, p.config)
}

// lasting is a configuration without what can change while a version serves on:
// which versions there are and what they are called.
func lasting(cfg *inference.ModelConfig) *inference.ModelConfig {
	c := proto.CloneOf(cfg)
	c.VersionPolicy = nil
	delete(c.GetParameters(), modelconfig.LabelsParameter)
	return c
}

// shown is the configuration of a version as the model is now: the version may
// have been loaded when the model had other versions and labels.
func (m *model) shown(v *version) *inference.ModelConfig {
	labels := m.config.GetParameters()[modelconfig.LabelsParameter]
	if proto.Equal(v.config.GetVersionPolicy(), m.config.GetVersionPolicy()) && proto.Equal(v.config.GetParameters()[modelconfig.LabelsParameter], labels) {
		return v.config
	}
	c := proto.CloneOf(v.config)
	c.VersionPolicy = m.config.GetVersionPolicy()
	delete(c.GetParameters(), modelconfig.LabelsParameter)
	if labels != nil {
		if c.Parameters == nil {
			c.Parameters = map[string]*inference.ModelParameter{}
		}
		c.Parameters[modelconfig.LabelsParameter] = labels
	}
	return c
}

// labelsOf are a configuration's labels, each of which must point to a version
// that is to be served.
func labelsOf(cfg *inference.ModelConfig, wanted []int64) (map[string]int64, error) {
	labels, err := modelconfig.VersionLabels(cfg)
	if err != nil {
		return nil, err
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(wanted, labels[label]) {
			return nil, failure.New(failure.Invalid, "the label %q points to version %d, which the version_policy of model %q does not pick", label, labels[label], cfg.GetName())
		}
	}
	return labels, nil
}
