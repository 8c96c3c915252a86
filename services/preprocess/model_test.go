package preprocess_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/services/preprocess/decode"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
)

// exactDecoders tells whether this build decodes all formats as Pillow does.
func exactDecoders() bool {
	return decode.JPEGDecoder == "libjpeg-turbo" && decode.WebPDecoder == "libwebp"
}

// The model's input is equal to the bit to what torchvision makes with Pillow.
func TestSampleModelInputs(t *testing.T) {
	var expected struct {
		Images []struct {
			File   string
			SHA256 string `json:"input_sha256"`
		}
	}
	if err := json.Unmarshal(read(t, "testdata", "expected.json"), &expected); err != nil {
		t.Fatal(err)
	}
	m := load(t, sample(t), telemetry.Discard())
	equal := 0
	for _, want := range expected.Images {
		out := infer(t, m, request(image(t, want.File)))
		if diff := cmp.Diff([]int64{1, 224, 224, 3}, out.Shape); diff != "" || out.Datatype != "UINT8" {
			t.Errorf("%s: %s %s", want.File, out.Datatype, diff)
		}
		if sum(out.Data) == want.SHA256 {
			equal++
		} else if exactDecoders() {
			t.Errorf("%s: the input differs from Pillow's", want.File)
		}
	}
	t.Logf("%d of %d inputs are equal to the bit (%s, %s)", equal, len(expected.Images), decode.JPEGDecoder, decode.WebPDecoder)
}

// Whatever is sent, there is a tensor or the caller is told what is wrong with
// the image.
func TestCaseImagesNeverFailInternally(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	files, err := filepath.Glob(testkit.Path(t, "testdata", "cases", "images", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no case images: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := m.Infer(context.Background(), request(data))
			if err != nil {
				if status := failure.KindOf(err).HTTPStatus(); status < 400 || status > 499 {
					t.Errorf("status %d: %v", status, err)
				}
				return
			}
			if n := len(resp.GetRawOutputContents()[0]); n != 224*224*3 {
				t.Errorf("the tensor has %d bytes", n)
			}
		})
	}
}

func TestBatchEqualsItsImages(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	var files [][]byte
	var want []byte
	for _, file := range []string{"cat.jpg", "camera.png", "astronaut.webp", "cat.gif", "coffee.bmp", "rocket.tiff", "cat_rotated_by_exif.jpg"} {
		data := image(t, file)
		files = append(files, data)
		want = append(want, infer(t, m, request(data)).Data...)
	}
	out := infer(t, m, request(files...))
	if diff := cmp.Diff([]int64{7, 224, 224, 3}, out.Shape); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(out.Data, want) {
		t.Error("the batch differs from its images, one by one")
	}
}

func TestWithoutBatchDimension(t *testing.T) {
	cfg := sample(t)
	batched := infer(t, load(t, cfg, telemetry.Discard()), request(image(t, "cat.jpg")))
	cfg.MaxBatchSize = 0
	req := request(image(t, "cat.jpg"))
	req.Inputs[0].Shape = []int64{1}
	single := infer(t, load(t, cfg, telemetry.Discard()), req)
	if diff := cmp.Diff([]int64{224, 224, 3}, single.Shape); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(single.Data, batched.Data) {
		t.Error("pixels differ")
	}
}

// As many bad images as there are: the first is named, whichever fails first.
func TestBadImageInABatchIsNamed(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	good := image(t, "cat.jpg")
	for name, tc := range map[string]struct {
		images [][]byte
		kind   failure.Kind
		want   string
	}{
		"broken":      {[][]byte{good, good, good[:1000]}, failure.BrokenImage, "image 2: the JPEG image is "},
		"unsupported": {[][]byte{good, []byte("%PDF-1.7"), good, nil}, failure.UnsupportedMedia, "image 1: this is a PDF document"},
		"too large":   {[][]byte{caseImage(t, "bomb_1bit_20000.png"), nil}, failure.TooLarge, "image 0: the PNG image is 20000x20000"},
		"alone":       {[][]byte{good[:1000]}, failure.BrokenImage, "the JPEG image is "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Infer(context.Background(), request(tc.images...))
			if failure.KindOf(err) != tc.kind || !strings.HasPrefix(failure.Message(err), tc.want) {
				t.Errorf("got %s %q, want %s %q", failure.KindOf(err), failure.Message(err), tc.kind, tc.want)
			}
		})
	}
}

func TestFloatPlanes(t *testing.T) {
	out := infer(t, load(t, float32s(t), telemetry.Discard()), request(caseImage(t, "solid_white.jpg"), caseImage(t, "solid_black.jpg")))
	if diff := cmp.Diff([]int64{2, 3, 224, 224}, out.Shape); diff != "" || out.Datatype != "FP32" {
		t.Fatalf("%s %s", out.Datatype, diff)
	}
	for i, want := range []float64{2.2489, 2.4286, 2.6400, -2.1179, -2.0357, -1.8044} {
		got := float64(math.Float32frombits(binary.LittleEndian.Uint32(out.Data[4*224*224*i+4*500:])))
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("plane %d is %v, want %v", i, got, want)
		}
	}
}

func TestFloatsWithoutMeanAreFromZeroToOne(t *testing.T) {
	cfg := float32s(t)
	delete(cfg.Parameters, "mean")
	delete(cfg.Parameters, "std")
	out := infer(t, load(t, cfg, telemetry.Discard()), request(caseImage(t, "solid_white.jpg")))
	if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Data)); got != 1 {
		t.Errorf("white is %v, want 1", got)
	}
}

func TestCallersThatHaveGone(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	expired, release := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer release()
	for name, tc := range map[string]struct {
		ctx  context.Context
		want failure.Kind
	}{
		"cancelled": {cancelled, failure.Cancelled},
		"expired":   {expired, failure.Deadline},
	} {
		for _, n := range []int{1, 5} {
			t.Run(fmt.Sprintf("%s, batch of %d", name, n), func(t *testing.T) {
				images := make([][]byte, n)
				for i := range images {
					images[i] = image(t, "cat.jpg")
				}
				_, err := m.Infer(tc.ctx, request(images...))
				if failure.KindOf(err) != tc.want || strings.Contains(failure.Message(err), "image ") {
					t.Errorf("got %v, want %s", err, tc.want)
				}
			})
		}
	}
}

func TestTimesAddUpToTheTimeThatPassed(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	for _, n := range []int{1, 6} {
		images := make([][]byte, n)
		for i := range images {
			images[i] = image(t, "rocket.jpg")
		}
		begin := time.Now()
		_, timing, err := m.InferTimed(context.Background(), request(images...))
		passed := time.Since(begin)
		if err != nil {
			t.Fatal(err)
		}
		if timing.Batch != n || timing.Executions != 1 || timing.ComputeInput <= 0 || timing.ComputeInfer <= 0 {
			t.Errorf("batch of %d: %+v", n, timing)
		}
		if total := timing.Queue + timing.Compute(); total > passed {
			t.Errorf("batch of %d: %v of %v that passed", n, total, passed)
		}
	}
}

func TestConcurrentAnswersBelongToTheirCallers(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	files := []string{"cat.jpg", "camera.png", "astronaut.webp", "cat.gif"}
	want := map[string]string{}
	for _, file := range files {
		want[file] = sum(infer(t, m, request(image(t, file))).Data)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		file := files[i%len(files)]
		data := image(t, file)
		wg.Go(func() {
			resp, err := m.Infer(context.Background(), request(data))
			if err != nil {
				t.Error(err)
				return
			}
			if sum(resp.GetRawOutputContents()[0]) != want[file] {
				t.Errorf("%s: another answer than alone", file)
			}
		})
	}
	wg.Wait()
}

func TestBadRequests(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	short := request(image(t, "cat.jpg"))
	short.RawInputContents[0] = short.RawInputContents[0][:100]
	other := request(nil)
	other.Inputs[0].Name = "other"
	none := request()
	for name, req := range map[string]struct {
		want  string
		infer func() error
	}{
		"bytes missing": {"BYTES element 0 says", func() error { _, err := m.Infer(context.Background(), short); return err }},
		"another name":  {`missing input "IMAGE"`, func() error { _, err := m.Infer(context.Background(), other); return err }},
		"no images":     {`input "IMAGE" has no images`, func() error { _, err := m.Infer(context.Background(), none); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := req.infer(); failure.KindOf(err) != failure.Invalid || !strings.HasPrefix(failure.Message(err), req.want) {
				t.Errorf("got %v, want Invalid with %q", err, req.want)
			}
		})
	}
}

func TestProperties(t *testing.T) {
	m := load(t, sample(t), telemetry.Discard())
	d, ok := m.(modelserver.Describer)
	if !ok {
		t.Fatal("the model does not describe itself")
	}
	p := d.Properties()
	if p["jpeg_decoder"] != decode.JPEGDecoder || p["webp_decoder"] != decode.WebPDecoder || p["resampler"] != "pillow bicubic" {
		t.Errorf("got %v", p)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
