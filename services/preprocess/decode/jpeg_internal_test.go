package decode

import "testing"

// What counts as memory is what this build's decoder keeps.
func TestJPEGMemory(t *testing.T) {
	photograph := []jpegComponent{{2, 2}, {1, 1}, {1, 1}} // 1.5 samples a pixel
	for name, c := range map[string]struct {
		frame jpegFrame
		std   int64
		turbo int64
	}{
		"baseline":         {jpegFrame{marker: markerSOF0, components: photograph}, 850, 300},
		"progressive":      {jpegFrame{marker: markerSOF2, components: photograph}, 1450, 600},
		"progressive gray": {jpegFrame{marker: markerSOF2, components: photograph[1:2]}, 1200, 500},
		"progressive full": {jpegFrame{marker: markerSOFA, components: []jpegComponent{{1, 1}, {1, 1}, {1, 1}}}, 2200, 900},
	} {
		t.Run(name, func(t *testing.T) {
			c.frame.width, c.frame.height = 10, 10
			want := map[string]int64{"image/jpeg": c.std, "libjpeg-turbo": c.turbo}[JPEGDecoder]
			if got := c.frame.memory(); got != want {
				t.Errorf("%d bytes by %s, want %d", got, JPEGDecoder, want)
			}
		})
	}
}
