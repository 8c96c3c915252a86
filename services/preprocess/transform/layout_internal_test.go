package transform

import (
	"fmt"
	"testing"
)

// BenchmarkLayout is from inside, so that nothing but the layout is measured. It
// has a plain copy for comparison.
func BenchmarkLayout(b *testing.B) {
	const side = 224
	rgb := make([]byte, 3*side*side)
	for i := range rgb {
		rgb[i] = byte(i * i)
	}
	run := func(name string, out []byte, write func(rgb, out []byte)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				write(rgb, out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/side/side, "ns/pixel")
		})
	}
	run("copy", make([]byte, len(rgb)), func(rgb, out []byte) { copy(out, rgb) })
	for _, element := range []Element{Uint8, Float16, Float32} {
		for _, layout := range []Layout{NHWC, NCHW} {
			for _, colors := range []Colors{BGR, Grey} {
				spec := Spec{OutWidth: side, OutHeight: side, Layout: layout, Colors: colors, Element: element}.complete()
				l := newLayout(spec)
				out := make([]byte, side*side*colors.Count()*element.size())
				run(fmt.Sprintf("%s %s %s", element, layout, colors), out, l.write)
			}
		}
	}
}
