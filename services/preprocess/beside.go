package preprocess

import (
	"encoding/binary"
	"math"
	"slices"

	"triptych/proto/inference"
	"triptych/services/preprocess/transform"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// beside names the outputs that tell where an image is in its tensor. An empty
// name is none.
type beside struct{ size, scale, padding string }

func (b beside) has(name string) bool {
	return name != "" && (name == b.size || name == b.scale || name == b.padding)
}

// readBeside reads which outputs tell what, and holds them against the
// configuration.
func readBeside(params *modelconfig.Parameters, cfg *inference.ModelConfig) beside {
	var b beside
	for _, o := range []struct {
		key  string
		name *string
		kind inference.DataType
		dims int64
	}{
		{"size_output", &b.size, inference.DataType_TYPE_INT32, 2},
		{"scale_output", &b.scale, inference.DataType_TYPE_FP32, 2},
		{"padding_output", &b.padding, inference.DataType_TYPE_INT32, 4},
	} {
		name := params.Text(o.key, "")
		if name == "" {
			continue
		}
		at := slices.IndexFunc(cfg.GetOutput(), func(out *inference.ModelOutput) bool { return out.GetName() == name })
		if at < 0 || b.has(name) {
			params.Fail(o.key, "is %q, must be an output of the model that is named once", name)
			continue
		}
		*o.name = name
		if out := cfg.GetOutput()[at]; out.GetDataType() != o.kind || !slices.Equal(out.GetDims(), []int64{o.dims}) {
			params.Fail(o.key, "is %q, which must be %s [%d], but is %s %s",
				name, oip.Datatype(o.kind), o.dims, oip.Datatype(out.GetDataType()), oip.FormatShape(out.GetDims()))
		}
	}
	return b
}

// add puts the outputs that are asked for into an answer.
func (b beside) add(req *inference.ModelInferRequest, resp *inference.ModelInferResponse, batched bool, images []source) {
	for _, o := range []struct {
		name, datatype string
		values         func(transform.Placement) []uint32
	}{
		{b.size, "INT32", func(p transform.Placement) []uint32 { return integers(p.Size.Y, p.Size.X) }},
		{b.scale, "FP32", func(p transform.Placement) []uint32 { return floats(p.ScaleY, p.ScaleX) }},
		{b.padding, "INT32", func(p transform.Placement) []uint32 { return integers(p.Left, p.Top, p.Right, p.Bottom) }},
	} {
		if o.name == "" || !oip.Wanted(req, o.name) {
			continue
		}
		var data []byte
		for i := range images {
			for _, v := range o.values(images[i].plan.Placement()) {
				data = binary.LittleEndian.AppendUint32(data, v)
			}
		}
		shape := []int64{int64(len(data) / 4 / len(images))}
		if batched {
			shape = []int64{int64(len(images)), shape[0]}
		}
		oip.AddOutput(resp, oip.Tensor{Name: o.name, Datatype: o.datatype, Shape: shape, Data: data})
	}
}

func integers(values ...int) []uint32 {
	bits := make([]uint32, len(values))
	for i, v := range values {
		bits[i] = uint32(int32(v))
	}
	return bits
}

func floats(values ...float64) []uint32 {
	bits := make([]uint32, len(values))
	for i, v := range values {
		bits[i] = math.Float32bits(float32(v))
	}
	return bits
}
