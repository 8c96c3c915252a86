package preprocess_test

import (
	"bytes"
	"context"
	stdimage "image"
	"image/jpeg"
	"testing"

	"github.com/disintegration/imaging"

	"triptych/shared/telemetry"
)

// photograph is a JPEG file of 12 megapixels, as a phone takes them.
func photograph(tb testing.TB) []byte {
	tb.Helper()
	small, err := jpeg.Decode(bytes.NewReader(image(tb, "rocket.jpg")))
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	var large stdimage.Image = imaging.Resize(small, 4000, 3000, imaging.CatmullRom)
	if err := jpeg.Encode(&out, large, &jpeg.Options{Quality: 88}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkInfer(b *testing.B) {
	for _, bm := range []struct {
		name string
		data func(testing.TB) []byte
	}{
		{"cat.jpg 451x300", func(tb testing.TB) []byte { return image(tb, "cat.jpg") }},
		{"astronaut.webp 512x512", func(tb testing.TB) []byte { return image(tb, "astronaut.webp") }},
		{"photograph 4000x3000", photograph},
	} {
		b.Run(bm.name, func(b *testing.B) {
			m, req := load(b, sample(b), telemetry.Discard()), request(bm.data(b))
			b.ReportAllocs()
			b.ResetTimer()
			var input, infer float64
			for range b.N {
				_, timing, err := m.InferTimed(context.Background(), req)
				if err != nil {
					b.Fatal(err)
				}
				input += timing.ComputeInput.Seconds()
				infer += timing.ComputeInfer.Seconds()
			}
			b.ReportMetric(1e3*input/float64(b.N), "decode-ms/op")
			b.ReportMetric(1e3*infer/float64(b.N), "transform-ms/op")
		})
	}
}
