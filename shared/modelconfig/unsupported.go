package modelconfig

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// strategyParameter is Triton's way to a batching function in a library.
const strategyParameter = "TRITON_BATCH_STRATEGY_PATH"

func (d *Document) unsupported(what string, path ...place) error {
	return failure.New(failure.Unsupported, "%s: %s is not supported", d.where.at(path...), what)
}

// checkUnsupported refuses by name what would otherwise be ignored and changes
// what a model answers, and values that no name has.
func (d *Document) checkUnsupported() error {
	c := d.Config
	for _, f := range []struct {
		field string
		set   bool
	}{
		{"sequence_batching", c.GetSequenceBatching() != nil},
		{"model_transaction_policy", c.GetModelTransactionPolicy().GetDecoupled()},
		{"batch_input", len(c.GetBatchInput()) > 0},
		{"batch_output", len(c.GetBatchOutput()) > 0},
		{"model_repository_agents", len(c.GetModelRepositoryAgents().GetAgents()) > 0},
		{"model_operations", len(c.GetModelOperations().GetOpLibraryFilename()) > 0},
	} {
		if f.set {
			return d.unsupported(f.field, place{f.field, 0})
		}
	}
	if _, ok := c.GetParameters()[strategyParameter]; ok {
		return d.unsupported("the parameter "+strategyParameter, d.where.entry(nil, "parameters", `"`+strategyParameter+`"`))
	}
	if path, number, ok := nameless(c.ProtoReflect()); ok {
		return d.failf(path, "%s is %d, which is none of its values", path[len(path)-1].field, number)
	}
	return d.checkFiles()
}

// checkFiles keeps the model's files inside of the version's directory.
func (d *Document) checkFiles() error {
	if name := d.Config.GetDefaultModelFilename(); !isLocal(name) {
		return d.failf([]place{{"default_model_filename", 0}}, "default_model_filename %q leaves the version's directory", name)
	}
	for capability, name := range d.Config.GetCcModelFilenames() {
		if !isLocal(name) {
			return d.failf([]place{d.where.entry(nil, "cc_model_filenames", `"`+capability+`"`)}, "cc_model_filenames %q leaves the version's directory", name)
		}
	}
	return nil
}

// checkPlain refuses the kinds of tensors that only TensorRT plans have.
func (d *Document) checkPlain(here place, t interface {
	GetIsShapeTensor() bool
	GetIsNonLinearFormatIo() bool
},
) error {
	switch {
	case t.GetIsShapeTensor():
		return d.unsupported("is_shape_tensor", here, place{"is_shape_tensor", 0})
	case t.GetIsNonLinearFormatIo():
		return d.unsupported("is_non_linear_format_io", here, place{"is_non_linear_format_io", 0})
	}
	return nil
}

// checkGroup refuses what only other schedulers, devices and kinds of models have.
func (d *Document) checkGroup(here place, g *inference.ModelInstanceGroup) error {
	switch {
	case len(g.GetRateLimiter().GetResources()) > 0:
		return d.unsupported("rate_limiter with resources", here, place{"rate_limiter", 0}, place{"resources", 0})
	case len(g.GetSecondaryDevices()) > 0:
		return d.unsupported("secondary_devices", here, place{"secondary_devices", 0})
	case len(g.GetProfile()) > 0:
		return d.unsupported("profile, which is for TensorRT plans,", here, place{"profile", 0})
	}
	for i, id := range g.GetGpus() {
		if id < 0 {
			return d.failf([]place{here, {"gpus", i}}, "instance_group names the GPU %d, must be 0 or more", id)
		}
	}
	return nil
}

// nameless finds an enum that has a number which none of its names has: the text
// format takes any.
func nameless(m protoreflect.Message) (path []place, number protoreflect.EnumNumber, found bool) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		visit := func(i int, v protoreflect.Value, kind protoreflect.FieldDescriptor) bool {
			here := place{string(f.Name()), i}
			switch kind.Kind() {
			case protoreflect.EnumKind:
				if kind.Enum().Values().ByNumber(v.Enum()) == nil {
					path, number, found = []place{here}, v.Enum(), true
				}
			case protoreflect.MessageKind:
				if inner, n, ok := nameless(v.Message()); ok {
					path, number, found = append([]place{here}, inner...), n, true
				}
			}
			return !found
		}
		switch {
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { return visit(0, v, f.MapValue()) })
		case f.IsList():
			for i := 0; i < v.List().Len() && visit(i, v.List().Get(i), f); i++ {
			}
		default:
			visit(0, v, f)
		}
		return !found
	})
	return path, number, found
}

// batchHint explains the most frequent mistake with dims.
func batchHint(here bool) string {
	if here {
		return ": dims never hold the batch dimension"
	}
	return ""
}
