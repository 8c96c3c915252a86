package modelserver

import (
	"maps"

	"triptych/proto/inference"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// readyVersions are the versions of a model that can serve, oldest first.
func (r *Registry) readyVersions(name string) []string {
	var ready []string
	for _, entry := range r.indexOf(name) {
		if entry.GetState() == string(Ready) {
			ready = append(ready, entry.GetVersion())
		}
	}
	return ready
}

// labels are the labels of a model's versions.
func (r *Registry) labels(name string) map[string]int64 {
	if m := r.get(name); m != nil {
		return m.labels
	}
	return nil
}

// metadata describes a version that the caller holds.
func (v *version) metadata(versions []string, labels map[string]int64) *inference.ModelMetadataResponse {
	c := v.config
	m := &inference.ModelMetadataResponse{Name: c.GetName(), Versions: versions, Platform: c.GetPlatform()}
	if m.Platform == "" {
		m.Platform = c.GetBackend()
	}
	for _, in := range c.GetInput() {
		m.Inputs = append(m.Inputs, &inference.ModelMetadataResponse_TensorMetadata{
			Name: in.GetName(), Datatype: oip.Datatype(in.GetDataType()), Shape: oip.WireShape(c.GetMaxBatchSize(), in.GetDims()),
		})
	}
	for _, out := range c.GetOutput() {
		m.Outputs = append(m.Outputs, &inference.ModelMetadataResponse_TensorMetadata{
			Name: out.GetName(), Datatype: oip.Datatype(out.GetDataType()), Shape: oip.WireShape(c.GetMaxBatchSize(), out.GetDims()),
		})
	}
	if d, ok := v.model.(Describer); ok {
		m.Properties = maps.Clone(d.Properties())
	}
	if len(labels) > 0 {
		if m.Properties == nil {
			m.Properties = map[string]string{}
		}
		m.Properties[modelconfig.LabelsParameter] = modelconfig.FormatLabels(labels)
	}
	return m
}
