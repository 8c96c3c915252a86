package rest

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"triptych/gateway/web"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxClasses bounds the elements that are sorted for one output.
const maxClasses = 1_000_000

// classify applies the classification extension: an output that was asked for
// with it becomes the strings "value:index" of its greatest values.
func (a *API) classify(ctx context.Context, req *request, resp *inference.ModelInferResponse) error {
	var cfg *inference.ModelConfig
	for i, out := range resp.GetOutputs() {
		classes := req.formOf(out.GetName()).classes
		if classes == 0 || i >= len(resp.GetRawOutputContents()) {
			continue
		}
		if cfg == nil {
			answer, err := a.server.ModelConfig(ctx, &inference.ModelConfigRequest{Name: resp.GetModelName(), Version: resp.GetModelVersion()})
			if err != nil {
				return web.Failure(err)
			}
			cfg = answer.GetConfig()
		}
		if labelled(cfg, out.GetName()) {
			return failure.New(failure.Unsupported, "output %s: classification with the labels of label_filename is not supported by this server", failure.Quote(out.GetName()))
		}
		data, err := topClasses(out, resp.GetRawOutputContents()[i], classes, cfg.GetMaxBatchSize() > 0)
		if err != nil {
			return failure.Prefix("output "+failure.Quote(out.GetName()), err)
		}
		resp.RawOutputContents[i] = data
	}
	return nil
}

func labelled(cfg *inference.ModelConfig, output string) bool {
	return slices.ContainsFunc(cfg.GetOutput(), func(o *inference.ModelOutput) bool {
		return o.GetName() == output && o.GetLabelFilename() != ""
	})
}

// topClasses turns out into the strings of its n greatest values, for each row
// of a batch, and returns their data.
func topClasses(out *inference.ModelInferResponse_InferOutputTensor, data []byte, n int64, batched bool) ([]byte, error) {
	size, err := oip.ByteSize(out.GetDatatype(), out.GetShape())
	value := number(out.GetDatatype())
	if value == nil {
		return nil, failure.New(failure.Invalid, "%s cannot be sorted for classification", out.GetDatatype())
	}
	if err != nil || size != int64(len(data)) {
		return nil, failure.New(failure.Internal, "the model gave %d bytes for %s of shape %s", len(data), out.GetDatatype(), oip.FormatShape(out.GetShape()))
	}
	width := oip.Size(out.GetDatatype())
	count := int64(len(data) / width)
	if count > maxClasses {
		return nil, failure.New(failure.Invalid, "%d elements are too many for classification, at most %d are sorted", count, maxClasses)
	}
	rows := int64(1)
	if batched && len(out.GetShape()) > 0 {
		rows = out.GetShape()[0]
	}
	row := count / max(rows, 1)
	n = min(n, row)
	var texts []byte
	for r := range rows {
		texts = appendTop(texts, data[r*row*int64(width):(r+1)*row*int64(width)], width, n, value)
	}
	out.Datatype, out.Shape = oip.Bytes, []int64{n}
	if batched {
		out.Shape = []int64{rows, n}
	}
	return texts, nil
}

// class is one value with its index.
type class struct {
	value float64
	text  string
	index int
}

// appendTop appends the n greatest of one row, NaN last and ties by index.
func appendTop(dst, data []byte, width int, n int64, value func([]byte) (float64, string)) []byte {
	classes := make([]class, 0, len(data)/width)
	for i := 0; i < len(data); i += width {
		v, text := value(data[i:])
		classes = append(classes, class{v, text, i / width})
	}
	// cmp.Compare takes NaN for the least of all.
	slices.SortStableFunc(classes, func(a, b class) int { return cmp.Compare(b.value, a.value) })
	for _, c := range classes[:n] {
		dst = oip.AppendString(dst, c.text+":"+strconv.Itoa(c.index))
	}
	return dst
}

// number reads an element as a number to sort by and as Triton prints it; nil
// for types that are not sorted. Integers beyond 2^53 may tie when sorted.
func number(datatype string) func([]byte) (float64, string) {
	le := binary.LittleEndian
	float := func(v float64) (float64, string) { return v, strconv.FormatFloat(v, 'f', 6, 64) }
	signed := func(v int64) (float64, string) { return float64(v), strconv.FormatInt(v, 10) }
	unsigned := func(v uint64) (float64, string) { return float64(v), strconv.FormatUint(v, 10) }
	switch datatype {
	case "FP32":
		return func(b []byte) (float64, string) { return float(float64(math.Float32frombits(le.Uint32(b)))) }
	case "FP64":
		return func(b []byte) (float64, string) { return float(math.Float64frombits(le.Uint64(b))) }
	case "INT8":
		return func(b []byte) (float64, string) { return signed(int64(int8(b[0]))) }
	case "INT16":
		return func(b []byte) (float64, string) { return signed(int64(int16(le.Uint16(b)))) }
	case "INT32":
		return func(b []byte) (float64, string) { return signed(int64(int32(le.Uint32(b)))) }
	case "INT64":
		return func(b []byte) (float64, string) { return signed(int64(le.Uint64(b))) }
	case "UINT8":
		return func(b []byte) (float64, string) { return unsigned(uint64(b[0])) }
	case "UINT16":
		return func(b []byte) (float64, string) { return unsigned(uint64(le.Uint16(b))) }
	case "UINT32":
		return func(b []byte) (float64, string) { return unsigned(uint64(le.Uint32(b))) }
	case "UINT64":
		return func(b []byte) (float64, string) { return unsigned(le.Uint64(b)) }
	default:
		return nil
	}
}
