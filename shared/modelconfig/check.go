package modelconfig

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
)

// Document is a configuration and the text that it came from, so that what is
// wrong can be pointed at.
type Document struct {
	Config *inference.ModelConfig
	where  *locator
}

// NewDocument joins a configuration with its text; text is nil when there is
// none.
func NewDocument(file string, text []byte, cfg *inference.ModelConfig) *Document {
	return &Document{Config: cfg, where: newLocator(file, bytes.TrimPrefix(text, []byte(byteOrderMark)))}
}

func (d *Document) failf(path []place, format string, args ...any) error {
	return d.where.at(path...).failf(format, args...)
}

// Check holds a completed configuration against Triton's rules. An error is
// Invalid, or Unsupported for what this server does not do, and points at the
// field.
func (d *Document) Check() error {
	c := d.Config
	if c.GetMaxBatchSize() < 0 {
		return d.failf([]place{{"max_batch_size", 0}}, "max_batch_size is %d, must be 0 or more", c.GetMaxBatchSize())
	}
	for _, check := range []func() error{d.checkUnsupported, d.checkInputs, d.checkOutputs, d.checkScheduling, d.checkInstances, d.checkVersions, d.checkMetrics, d.checkServer} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkInputs() error {
	names := make(map[string]bool, len(d.Config.GetInput()))
	for i, in := range d.Config.GetInput() {
		here := place{"input", i}
		t := tensor{in.GetName(), in.GetDataType(), in.GetDims(), in.GetReshape()}
		if err := d.checkTensor(here, t, names); err != nil {
			return err
		}
		if in.GetFormat() != inference.ModelInput_FORMAT_NONE && len(in.GetDims()) != 3 {
			return d.failf([]place{here, {"format", 0}}, "input %q has the format %s, which needs 3 dims, but has %d%s", in.GetName(), in.GetFormat(), len(in.GetDims()), batchHint(len(in.GetDims()) == 4))
		}
		if in.GetAllowRaggedBatch() {
			return d.unsupported("allow_ragged_batch", here, place{"allow_ragged_batch", 0})
		}
		if err := d.checkPlain(here, in); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) checkOutputs() error {
	names := make(map[string]bool, len(d.Config.GetOutput()))
	for i, out := range d.Config.GetOutput() {
		t := tensor{out.GetName(), out.GetDataType(), out.GetDims(), out.GetReshape()}
		if err := d.checkTensor(place{"output", i}, t, names); err != nil {
			return err
		}
		if err := d.checkPlain(place{"output", i}, out); err != nil {
			return err
		}
		if name := out.GetLabelFilename(); name != "" && !isLocal(name) {
			return d.failf([]place{{"output", i}, {"label_filename", 0}}, "label_filename %q leaves the model's directory", name)
		}
	}
	return nil
}

// tensor is what inputs and outputs have in common.
type tensor struct {
	name    string
	kind    inference.DataType
	dims    []int64
	reshape *inference.ModelTensorReshape
}

func (d *Document) checkTensor(here place, t tensor, names map[string]bool) error {
	what := here.field + " " + strconv.Quote(t.name)
	if t.name == "" {
		return d.failf([]place{here}, "%s %d has no name", here.field, here.index)
	}
	if names[t.name] {
		return d.failf([]place{here, {"name", 0}}, "%s is there twice", what)
	}
	names[t.name] = true
	if t.kind == inference.DataType_TYPE_INVALID {
		return d.failf([]place{here, {"data_type", 0}}, "%s has no data_type", what)
	}
	if len(t.dims) == 0 {
		return d.failf([]place{here, {"dims", 0}}, "%s has no dims", what)
	}
	for i, dim := range t.dims {
		if dim < 1 && dim != -1 {
			return d.failf([]place{here, {"dims", i}}, "%s has the dim %d, must be 1 or more, or -1 for any", what, dim)
		}
	}
	return d.checkReshape(here, what, t)
}

func (d *Document) checkReshape(here place, what string, t tensor) error {
	if t.reshape == nil {
		return nil
	}
	path := []place{here, {"reshape", 0}}
	for i, dim := range t.reshape.GetShape() {
		if dim < 1 && dim != -1 {
			return d.failf(append(path, place{"shape", i}), "%s has the dim %d in its reshape, must be 1 or more, or -1 for any", what, dim)
		}
	}
	if len(t.reshape.GetShape()) == 0 && d.Config.GetMaxBatchSize() == 0 {
		return d.failf(path, "%s has an empty reshape, which needs max_batch_size > 0", what)
	}
	if have, want := product(t.reshape.GetShape()), product(t.dims); have != want {
		return d.failf(path, "%s has %d elements after reshape, but %d in dims", what, have, want)
	}
	return nil
}

// product multiplies the fixed dims; dims come from a file that we trust no
// further than that it must not overflow.
func product(dims []int64) int64 {
	n := int64(1)
	for _, dim := range dims {
		if dim <= 0 {
			continue
		}
		if n > math.MaxInt64/dim {
			return math.MaxInt64
		}
		n *= dim
	}
	return n
}

// maxInstances bounds the instances of a version: each costs memory, and a little
// for every batch.
const maxInstances = 1024

func (d *Document) checkInstances() error {
	total := 0
	for i, g := range d.Config.GetInstanceGroup() {
		here := place{"instance_group", i}
		if g.GetCount() < 0 {
			return d.failf([]place{here, {"count", 0}}, "instance_group has the count %d, must be 0 or more", g.GetCount())
		}
		if total += int(g.GetCount()) * max(len(g.GetGpus()), 1); total > maxInstances {
			return d.failf([]place{here, {"count", 0}}, "instance_group asks for %d instances, at most %d are taken", total, maxInstances)
		}
		if err := d.checkGroup(here, g); err != nil {
			return err
		}
		cpu := g.GetKind() == inference.ModelInstanceGroup_KIND_CPU || g.GetKind() == inference.ModelInstanceGroup_KIND_MODEL
		if cpu && len(g.GetGpus()) > 0 {
			return d.failf([]place{here, {"gpus", 0}}, "instance_group of %s can't name gpus", g.GetKind())
		}
	}
	return nil
}

func (d *Document) checkVersions() error {
	specific := d.Config.GetVersionPolicy().GetSpecific()
	if specific == nil {
		return nil
	}
	here := []place{{"version_policy", 0}, {"specific", 0}}
	if len(specific.GetVersions()) == 0 {
		return d.failf(here, "version_policy specific names no versions")
	}
	for i, v := range specific.GetVersions() {
		if v < 1 {
			return d.failf(append(here, place{"versions", i}), "version_policy names the version %d, must be 1 or more", v)
		}
	}
	return nil
}

func isLocal(name string) bool {
	return !strings.HasPrefix(name, "/") && !slices.Contains(strings.Split(name, "/"), "..")
}
