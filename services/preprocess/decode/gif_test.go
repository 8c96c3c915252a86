package decode_test

import (
	"context"
	"testing"

	"triptych/services/preprocess/decode"
	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// DEC-04, PRE-06.
func TestGIFDecodesToPillowsPixels(t *testing.T) {
	for _, want := range readGolden(t, folder("gif", "golden.json")) {
		t.Run(want.File, func(t *testing.T) {
			checkGolden(t, folder("gif", want.File), want)
			if want.SHA256 != "" {
				checkParts(t, folder("gif", want.File))
			}
		})
	}
}

func TestGIFEndsSoonAfterItsCaller(t *testing.T) {
	h, err := decode.Open(readFile(t, folder("gif", "plain.gif")), options())
	if err != nil {
		t.Fatal(err)
	}
	var pool pixels.Pool
	img, err := h.Decode(&leaving{Context: context.Background(), looks: 5}, &pool, decode.View{})
	if failure.KindOf(err) != failure.Cancelled {
		t.Errorf("got %v and %v, want the caller's leave", img, err)
	}
}
