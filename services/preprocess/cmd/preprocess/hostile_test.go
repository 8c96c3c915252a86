package main_test

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
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// The bounds of any answer, however busy the machine: processor time, and the memory
// that all of them take.
const (
	longest = 2 * time.Second
	growth  = 256 * mega
)

func read(t testing.TB, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, append([]string{"testdata"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// exact tells whether the service's build has the C decoders.
func (s *service) exact(t *testing.T) bool {
	t.Helper()
	metadata, err := s.client.ModelMetadata(t.Context(), &inference.ModelMetadataRequest{Name: model})
	if err != nil {
		t.Fatal(err)
	}
	return metadata.GetProperties()["jpeg_decoder"] == "libjpeg-turbo"
}

// verdicts are the kinds of failure that the files of testdata/cases get in the
// service's build. Those that get a tensor have the zero Kind, which no file gets.
func verdicts(t *testing.T, s *service) map[string]failure.Kind {
	t.Helper()
	var rows []struct{ File, Verdict, Portable string }
	if err := json.Unmarshal(read(t, "cases", "verdicts.json"), &rows); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]failure.Kind{
		"pixels": 0, "broken": failure.BrokenImage, "unsupported": failure.UnsupportedMedia, "too_large": failure.TooLarge,
	}
	exact, all := s.exact(t), map[string]failure.Kind{}
	for _, row := range rows {
		verdict := row.Verdict
		if row.Portable != "" && !exact {
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
	if err := s.ask(t, read(t, "images", "cat.jpg")); err != nil {
		t.Fatal(err)
	}
	before := s.usage(t).peak
	for file, want := range verdicts(t, s) {
		t.Run(file, func(t *testing.T) {
			begin := s.usage(t).cpu
			err := s.ask(t, read(t, "cases", "images", file))
			switch {
			case want == 0 && err != nil:
				t.Errorf("refused: %v", err)
			case want != 0 && (err == nil || failure.KindOf(err) != want):
				t.Errorf("got %v, want %s", err, want)
			}
			if took := s.usage(t).cpu - begin; took > longest {
				t.Errorf("the answer took %s", took)
			}
		})
	}
	if grew := s.usage(t).peak - before; grew > growth {
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
	if err := s.ask(t, good); err != nil {
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
			before := s.usage(t)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := s.ask(t, data); failure.KindOf(err) != failure.TooLarge {
						t.Errorf("got %v, want TooLarge", err)
					}
				})
			}
			wg.Wait()
			after := s.usage(t)
			if grew := after.peak - before.peak; grew > 50*mega {
				t.Errorf("memory grew by %d MiB", grew/mega)
			}
			if cpu := after.cpu - before.cpu; cpu > 8*100*time.Millisecond {
				t.Errorf("8 refusals took %s of CPU", cpu)
			}
			if err := s.ask(t, good); err != nil {
				t.Errorf("the next image: %v", err)
			}
		})
	}
}

// DEC-10: EXIF data that lead in circles cost nothing; the image counts as upright or
// as what could be read.
func TestBrokenEXIFThroughTheService(t *testing.T) {
	s := start(t)
	if err := s.ask(t, read(t, "images", "cat.jpg")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"o6_loop.jpg", "o0.jpg", "o9.jpg"} {
		t.Run(file, func(t *testing.T) {
			before := s.usage(t).cpu
			if err := s.ask(t, read(t, "cases", "images", file)); err != nil {
				t.Error(err)
			}
			if cpu := s.usage(t).cpu - before; cpu > 100*time.Millisecond {
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
			err := s.ask(t, good, good, read(t, "cases", "images", file), good)
			if failure.KindOf(err) != want || !strings.HasPrefix(failure.Message(err), "image 2: ") {
				t.Errorf("got %v, want %s of image 2", err, want)
			}
		})
	}
}

// A caller that goes takes the work on its image along: the CPU is free soon after.
// It goes when a quarter has been done, by the service's own time, so that it does
// not matter what else the machine has to do.
func TestCallerThatGoesFreesTheCPU(t *testing.T) {
	s := start(t, "--request-timeout=10m")
	if !s.exact(t) {
		return // Go's decoder can't be stopped
	}
	long := manyScans()
	before := s.usage(t).cpu
	if err := s.ask(t, long); err != nil {
		t.Fatal(err)
	}
	whole := s.usage(t).cpu - before
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before = s.usage(t).cpu
	answer := make(chan error, 1)
	go func() {
		_, err := s.client.ModelInfer(ctx, request(long))
		answer <- err
	}()
	testkit.Eventually(t, time.Minute, "a quarter of the work", func() bool { return s.usage(t).cpu-before > whole/4 })
	cancel()
	if kind := failure.KindOf(failure.FromStatus(<-answer, "preprocess")); kind != failure.Cancelled {
		t.Fatalf("got %s, want Cancelled", kind)
	}
	testkit.Eventually(t, time.Minute, "an idle CPU after the caller has gone", func() bool {
		begin := s.usage(t).cpu
		time.Sleep(whole / 4)
		return s.usage(t).cpu-begin < whole/50
	})
	if spent := s.usage(t).cpu - before; spent > whole*2/3 {
		t.Errorf("a call that was given up took %s of CPU, a whole one takes %s", spent, whole)
	}
}
