package measure_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/proto/inference"
	"triptych/services/preprocess/measure"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// patience bounds any answer, growth the memory that all of them take.
const (
	patience = 2 * time.Second
	growth   = 256 * mega
)

func read(t testing.TB, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, append([]string{"testdata"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ask sends images and tells what the answer was and how long it took.
func ask(t *testing.T, s *measure.Service, images ...[]byte) (time.Duration, error) {
	t.Helper()
	begin := time.Now()
	resp, err := s.Client().ModelInfer(t.Context(), measure.Request(model, input, images...))
	took := time.Since(begin)
	if err == nil && len(resp.GetRawOutputContents()[0]) != len(images)*224*224*3 {
		t.Errorf("the tensor has %d bytes", len(resp.GetRawOutputContents()[0]))
	}
	return took, failure.FromStatus(err, "preprocess")
}

// verdicts are the kinds of failure that the files of testdata/cases get in the
// service's build. Those that get a tensor have the zero Kind, which no file gets.
func verdicts(t *testing.T, s *measure.Service) map[string]failure.Kind {
	t.Helper()
	metadata, err := s.Client().ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: model})
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ File, Verdict, Portable string }
	if err := json.Unmarshal(read(t, "cases", "verdicts.json"), &rows); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]failure.Kind{
		"pixels": 0, "broken": failure.BrokenImage, "unsupported": failure.UnsupportedMedia, "too_large": failure.TooLarge,
	}
	all := map[string]failure.Kind{}
	for _, row := range rows {
		verdict := row.Verdict
		if row.Portable != "" && metadata.GetProperties()["jpeg_decoder"] != "libjpeg-turbo" {
			verdict = row.Portable
		}
		kind, ok := kinds[verdict]
		if !ok {
			t.Fatalf("%s: unknown verdict %q", row.File, verdict)
		}
		all[row.File] = kind
	}
	return all
}

// Every file gets its verdict, in bounded time and memory, and the service answers
// the next one.
func TestCaseImagesThroughTheService(t *testing.T) {
	s := start(t)
	if _, err := ask(t, s, read(t, "images", "cat.jpg")); err != nil {
		t.Fatal(err)
	}
	before := usage(t, s).Peak
	for file, want := range verdicts(t, s) {
		t.Run(file, func(t *testing.T) {
			took, err := ask(t, s, read(t, "cases", "images", file))
			switch {
			case want == 0 && err != nil:
				t.Errorf("refused: %v", err)
			case want != 0 && (err == nil || failure.KindOf(err) != want):
				t.Errorf("got %v, want %s", err, want)
			case took > patience:
				t.Errorf("the answer took %s", took)
			}
		})
	}
	if grew := usage(t, s).Peak - before; grew > growth {
		t.Errorf("memory grew by %d MiB", grew/mega)
	}
}

// chunk is a chunk of a PNG file.
func chunk(name string, data []byte) []byte {
	body := append([]byte(name), data...)
	out := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
}

// pngBomb says 20000x20000 RGBA and has two bytes of pixels.
func pngBomb(depth byte) []byte {
	size := binary.BigEndian.AppendUint32(nil, 20000)
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", slices.Concat(size, size, []byte{depth, 6, 0, 0, 0})), chunk("IDAT", []byte{0x78, 0x9c}))
}

// A file that announces much and has little is refused by its header, at once and
// for no memory, however many come together.
func TestBombsThroughTheService(t *testing.T) {
	s := start(t)
	good := read(t, "images", "cat.jpg")
	if _, err := ask(t, s, good); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"DEC-01 WebP":            []byte("RIFF\x14\x00\x00\x00WEBPVP8L\x08\x00\x00\x00\x2f\xff\xff\xff\x0f\x88\x88\x08"),
		"DEC-02 PNG":             pngBomb(8),
		"DEC-02 PNG of 16 bits":  pngBomb(16),
		"DEC-02 PNG that is one": read(t, "cases", "images", "bomb_1bit_20000.png"),
		"DEC-03 GIF":             []byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x00\x3b"),
	} {
		t.Run(name, func(t *testing.T) {
			before := usage(t, s)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					took, err := ask(t, s, data)
					if failure.KindOf(err) != failure.TooLarge || took > patience {
						t.Errorf("after %s: %v, want TooLarge within %s", took, err, patience)
					}
				})
			}
			wg.Wait()
			after := usage(t, s)
			if grew := after.Peak - before.Peak; grew > 50*mega {
				t.Errorf("memory grew by %d MiB", grew/mega)
			}
			if cpu := after.CPU - before.CPU; cpu > 8*100*time.Millisecond {
				t.Errorf("8 refusals took %s of CPU", cpu)
			}
			if _, err := ask(t, s, good); err != nil {
				t.Errorf("the next image: %v", err)
			}
		})
	}
}

// DEC-10: EXIF data that lead in circles cost nothing; the image counts as upright or
// as what could be read.
func TestBrokenEXIFThroughTheService(t *testing.T) {
	s := start(t)
	if _, err := ask(t, s, read(t, "images", "cat.jpg")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"o6_loop.jpg", "o0.jpg", "o9.jpg"} {
		t.Run(file, func(t *testing.T) {
			before := usage(t, s).CPU
			if _, err := ask(t, s, read(t, "cases", "images", file)); err != nil {
				t.Error(err)
			}
			if cpu := usage(t, s).CPU - before; cpu > 100*time.Millisecond {
				t.Errorf("it took %s of CPU", cpu)
			}
		})
	}
}

// One bad image in a batch is named by its index.
func TestBadImageOfABatchThroughTheService(t *testing.T) {
	s := start(t)
	good := read(t, "images", "cat.jpg")
	for file, want := range verdicts(t, s) {
		if want == 0 {
			continue
		}
		t.Run(file, func(t *testing.T) {
			_, err := ask(t, s, good, good, read(t, "cases", "images", file), good)
			if failure.KindOf(err) != want || !strings.HasPrefix(failure.Message(err), "image 2: ") {
				t.Errorf("got %v, want %s of image 2", err, want)
			}
		})
	}
}

// A caller that goes takes the work on its image along: the CPU is free soon after,
// with the service's own time as the measure.
func TestCallerThatGoesFreesTheCPU(t *testing.T) {
	s := start(t, "--request-timeout=10m")
	long := manyScans()
	before := usage(t, s).CPU
	whole, err := ask(t, s, long)
	if err != nil {
		t.Fatal(err)
	}
	cpu := usage(t, s).CPU - before
	ctx, cancel := context.WithTimeout(t.Context(), whole/4)
	defer cancel()
	before = usage(t, s).CPU
	_, err = s.Client().ModelInfer(ctx, measure.Request(model, input, long))
	if kind := failure.KindOf(failure.FromStatus(err, "preprocess")); kind != failure.Deadline {
		t.Fatalf("got %v, want its deadline", err)
	}
	testkit.Eventually(t, 4*whole+patience, "an idle CPU after the caller has gone", func() bool {
		begin := usage(t, s).CPU
		time.Sleep(whole / 4)
		return usage(t, s).CPU-begin < cpu/50
	})
	if spent := usage(t, s).CPU - before; spent > cpu*2/3 {
		t.Errorf("a call that was given up took %s of CPU, a whole one takes %s", spent, cpu)
	}
}
