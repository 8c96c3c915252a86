package decode

import "testing"

// What counts as memory is what this build's decoder keeps.
func TestJPEGMemory(t *testing.T) {
	photograph := []jpegComponent{{2, 2}, {1, 1}, {1, 1}} // 1.5 samples a pixel
	full := []jpegComponent{{1, 1}, {1, 1}, {1, 1}}
	for name, c := range map[string]struct {
		frame jpegFrame
		std   int64
		turbo int64
	}{
		"baseline":              {jpegFrame{marker: markerSOF0, scanned: 3, components: photograph, width: 160, height: 160}, 217600, 83520},
		"baseline, three scans": {jpegFrame{marker: markerSOF0, scanned: 1, components: photograph, width: 160, height: 160}, 371200, 160320},
		"progressive":           {jpegFrame{marker: markerSOF2, scanned: 3, components: photograph, width: 160, height: 160}, 371200, 160320},
		"progressive gray":      {jpegFrame{marker: markerSOF2, scanned: 1, components: full[:1], width: 160, height: 160}, 307200, 129920},
		"progressive full":      {jpegFrame{marker: markerSOFA, scanned: 3, components: full, width: 160, height: 160}, 563200, 236160},
		// Blocks are whole, and so are units of blocks.
		"one pixel": {jpegFrame{marker: markerSOF2, scanned: 3, components: []jpegComponent{{4, 2}, {1, 1}, {1, 1}}, width: 1, height: 1}, 3207, 2095},
		"no scan":   {jpegFrame{marker: markerSOF0, components: full[:1], width: 8, height: 8}, 768, 416},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]int64{"image/jpeg": c.std, "libjpeg-turbo": c.turbo}[JPEGDecoder]
			if got := c.frame.memory(); got != want {
				t.Errorf("%d bytes by %s, want %d", got, JPEGDecoder, want)
			}
		})
	}
}
