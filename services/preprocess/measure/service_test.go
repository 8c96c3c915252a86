package measure_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"triptych/proto/inference"
	"triptych/services/preprocess/measure"
	"triptych/shared/testkit"
)

const (
	model = "imagenet_preprocess"
	input = "IMAGE"
	mega  = 1 << 20
)

// start builds the service and runs it until the test ends.
func start(t testing.TB, flags ...string) *measure.Service {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "preprocess")
	if out, err := exec.Command("go", "build", "-o", binary, "triptych/services/preprocess/cmd/preprocess").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s, err := measure.Start(t.Context(), model, measure.Options{Binary: binary, Repository: testkit.Path(t, "models"), Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func usage(t testing.TB, s *measure.Service) measure.Usage {
	t.Helper()
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// photograph is a JPEG file with gradients and noise, as a camera makes it.
func photograph(t testing.TB, width, height int) []byte {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(1, uint64(width)))
	for i := range img.Y {
		x, y := i%img.YStride, i/img.YStride
		img.Y[i] = byte(64 + 64*x/width + 48*y/height + random.IntN(40))
	}
	for i := range img.Cb {
		x, y := i%img.CStride, i/img.CStride
		img.Cb[i], img.Cr[i] = byte(96+128*x/width+random.IntN(8)), byte(96+128*y/height+random.IntN(8))
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// 64 callers at once with photographs of 12 megapixels, and the default budget: less
// than a gigabyte, and nobody is refused.
func TestMemoryOfManyPhotographs(t *testing.T) {
	const callers, most = 64, 1 << 30
	data := photograph(t, 4000, 3000)
	s := start(t, "--request-timeout=10m")
	got, err := s.Load(t.Context(), []*inference.ModelInferRequest{measure.Request(model, input, data)}, callers, callers)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files of %.1f MB: %d MiB at most, %s of CPU each, %s in all", got.Calls, float64(len(data))/1e6, got.Peak/mega, got.CPUPerCall(), got.Took)
	if got.Peak > most {
		t.Errorf("%d MiB, want less than %d", got.Peak/mega, most/mega)
	}
}
