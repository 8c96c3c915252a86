package ours_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"triptych/loadtest/bench/images/ours"
	"triptych/loadtest/bench/turns"
	"triptych/services/preprocess/decode"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// sums are those of the model's input that the samples must have.
func sums(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(testkit.Path(t, "testdata", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Images []struct {
			File  string `json:"file"`
			Input string `json:"input_sha256"`
		} `json:"images"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, image := range document.Images {
		want[image.File] = image.Input
	}
	return want
}

func path(t *testing.T, name string) string {
	t.Helper()
	return testkit.Path(t, "testdata", "images", name)
}

func TestImages(t *testing.T) {
	want := sums(t)
	files := []string{"camera.png", "coffee.bmp", "rocket.tiff", "cat_rotated_by_exif.jpg"}
	task := turns.Task{Kind: turns.Image, Size: 256, Crop: 224, Filter: "bicubic", Upright: true}
	for _, name := range files {
		task.Files = append(task.Files, path(t, name))
	}
	work, p, err := ours.Prepare(task)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		if exact := i < 3 || decode.JPEGDecoder == turbo; exact && (p.Sums[i] != want[name] || want[name] == "") {
			t.Errorf("%s: %s, want %s", name, p.Sums[i], want[name])
		}
	}
	if err := work(5); err != nil {
		t.Error(err)
	}
	task.Upright = false
	if _, lying, err := ours.Prepare(task); err != nil || lying.Sums[3] == p.Sums[3] || lying.Sums[0] != p.Sums[0] {
		t.Errorf("as stored: %v, error %v", lying.Sums, err)
	}
}

// turbo is the decoder whose pixels are Pillow's, and which can scale.
const turbo = "libjpeg-turbo"

// What scaled decoding costs in pixels is told.
func TestScaledTellsItsDifference(t *testing.T) {
	task := turns.Task{Kind: turns.Image, Files: []string{path(t, "rocket.jpg")}, Size: 64, Crop: 56, Filter: "bicubic", Scaled: true}
	_, p, err := ours.Prepare(task)
	scales := decode.JPEGDecoder == turbo
	if err != nil || (p.Difference > 0) != scales || (p.Mean > 0) != scales || p.Mean > 10 {
		t.Errorf("%+v, error %v", p, err)
	}
	task.Scaled = false
	if _, exact, err := ours.Prepare(task); err != nil || exact.Difference != 0 || (exact.Sums[0] != p.Sums[0]) != scales {
		t.Errorf("%+v, error %v", exact, err)
	}
}

// The other library's filter is the same, its rounding is not.
func TestResize(t *testing.T) {
	task := turns.Task{Kind: turns.Resize, Files: []string{path(t, "rocket.jpg")}, Size: 256, Filter: "bicubic"}
	work, p, err := ours.Prepare(task)
	if err != nil || len(p.Sums) != 1 {
		t.Fatalf("%v, error %v", p, err)
	}
	if err := work(0); err != nil {
		t.Error(err)
	}
	task.Library = ours.Imaging
	work, other, err := ours.Prepare(task)
	if err != nil || other.Difference < 1 || other.Difference > 3 {
		t.Errorf("%+v, error %v", other, err)
	}
	if err := work(0); err != nil {
		t.Error(err)
	}
}

func TestWhatIsWrong(t *testing.T) {
	cat := path(t, "cat.jpg")
	for name, tt := range map[string]struct {
		task turns.Task
		want string
	}{
		"kind":         {turns.Task{Kind: "guess"}, `there is no "guess"`},
		"library":      {turns.Task{Kind: turns.Image, Library: "x"}, `with library "x"`},
		"file":         {turns.Task{Kind: turns.Image, Files: []string{"/nowhere.jpg"}, Size: 256, Crop: 224, Filter: "bicubic"}, "/nowhere.jpg"},
		"filter":       {turns.Task{Kind: turns.Image, Files: []string{cat}, Size: 256, Crop: 224, Filter: "x"}, `parameter "filter"`},
		"resize file":  {turns.Task{Kind: turns.Resize, Files: []string{"/nowhere.jpg"}, Size: 9, Filter: "box"}, "/nowhere.jpg"},
		"two files":    {turns.Task{Kind: turns.Resize, Files: []string{cat, cat}, Size: 9, Filter: "box"}, "there are 2 files"},
		"other filter": {turns.Task{Kind: turns.Resize, Files: []string{cat}, Size: 9, Filter: "box", Library: ours.Imaging}, `with filter "box"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ours.Prepare(tt.task); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
