package preprocess_test

import (
	"bytes"
	"context"
	stdimage "image"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/telemetry"
)

// pixelsOf a file, as the decoders give them.
func pixelsOf(tb testing.TB, data []byte) ([]byte, stdimage.Point) {
	tb.Helper()
	h, err := decode.Open(data, decode.Options{Limits: decode.Limits{Bytes: 1 << 25, Pixels: 1 << 25, Side: 1 << 14}})
	if err != nil {
		tb.Fatal(err)
	}
	var pool pixels.Pool
	img, err := h.Decode(context.Background(), &pool, decode.View{})
	if err != nil {
		tb.Fatal(err)
	}
	return img.Pix, img.Size
}

// takingPixels is the sample model for pixels in place of files.
func takingPixels(tb testing.TB) *inference.ModelConfig {
	tb.Helper()
	cfg := sample(tb)
	cfg.Input[0].DataType, cfg.Input[0].Dims = inference.DataType_TYPE_UINT8, []int64{-1, -1, 3}
	return cfg
}

// Decoded pixels get the tensor of the file that they are from, and are not
// touched.
func TestPixelsInPlaceOfFiles(t *testing.T) {
	files, raw := load(t, sample(t), telemetry.Discard()), load(t, takingPixels(t), telemetry.Discard())
	pix, size := pixelsOf(t, image(t, "coffee.bmp"))
	before := bytes.Clone(pix)
	req := &inference.ModelInferRequest{}
	other, otherSize := bytes.Clone(pix), size
	for i := range other {
		other[i] = 255 - other[i]
	}
	oip.AddInput(req, oip.Tensor{
		Name: "IMAGE", Datatype: "UINT8", Shape: []int64{2, int64(size.Y), int64(otherSize.X), 3}, Data: append(bytes.Clone(pix), other...),
	})
	if _, err := oip.Check(req, takingPixels(t)); err != nil {
		t.Errorf("the model server refuses sides of any length: %v", err)
	}
	out := infer(t, raw, req)
	if diff := cmp.Diff([]int64{2, 224, 224, 3}, out.Shape); diff != "" {
		t.Fatal(diff)
	}
	want := infer(t, files, request(image(t, "coffee.bmp"))).Data
	if !bytes.Equal(out.Data[:len(want)], want) {
		t.Error("the pixels of a file get another tensor than the file")
	}
	if bytes.Equal(out.Data[len(want):], want) {
		t.Error("two images of a batch got the same tensor")
	}
	if !bytes.Equal(req.RawInputContents[0][:len(before)], before) {
		t.Error("the request's pixels have been changed")
	}
}

func TestPixelsThatAreRefused(t *testing.T) {
	cfg := takingPixels(t)
	cfg.MaxBatchSize = 0
	set("max_pixels", "100")(cfg)
	set("max_width", "20")(cfg)
	m := load(t, cfg, telemetry.Discard())
	for name, tc := range map[string]struct {
		shape []int64
		bytes int
		kind  failure.Kind
		want  string
	}{
		"too many pixels": {[]int64{11, 10, 3}, 330, failure.TooLarge, "at most 100 in all"},
		"too wide":        {[]int64{1, 21, 3}, 63, failure.TooLarge, "at most 20 wide"},
		"no pixels":       {[]int64{0, 10, 3}, 0, failure.Invalid, `input "IMAGE" has no pixels`},
		"bytes missing":   {[]int64{5, 5, 3}, 74, failure.Invalid, "74 bytes"},
		"RGBA":            {[]int64{5, 5, 4}, 100, failure.Invalid, "must be UINT8 pixels [height,width,3]"},
		"flat":            {[]int64{75}, 75, failure.Invalid, "must be UINT8 pixels [height,width,3]"},
	} {
		t.Run(name, func(t *testing.T) {
			req := &inference.ModelInferRequest{}
			oip.AddInput(req, oip.Tensor{Name: "IMAGE", Datatype: "UINT8", Shape: tc.shape, Data: make([]byte, tc.bytes)})
			_, err := m.Infer(context.Background(), req)
			if failure.KindOf(err) != tc.kind || !strings.Contains(failure.Message(err), tc.want) {
				t.Errorf("got %v, want %s with %q", err, tc.kind, tc.want)
			}
		})
	}
}
