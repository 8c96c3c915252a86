package modelserver

import (
	"triptych/proto/inference"
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

// metadata describes a version that the caller holds.
func (v *version) metadata(versions []string) *inference.ModelMetadataResponse {
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
		m.Properties = d.Properties()
	}
	return m
}
