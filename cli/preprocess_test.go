package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/cli/cluster/clustertest"
	"triptych/services/preprocess/decode"
	"triptych/shared/testkit"
)

const commonParameters = `
	{ key: "size" value { string_value: "256" } }, { key: "filter" value { string_value: "bicubic" } },`

// preprocessors are models that see the same pixels, each in its own layout, and a
// few others.
func preprocessors() map[string]string {
	input := `backend: "image" max_batch_size: 4 input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]`
	model := func(datatype, dims, parameters string) string {
		return fmt.Sprintf("%s\noutput [ { name: \"image\" data_type: %s dims: [ %s ] } ]\nparameters [ %s %s ]", input, datatype, dims, commonParameters, parameters)
	}
	normalised := `{ key: "mean" value { string_value: "0.485,0.456,0.406" } }, { key: "std" value { string_value: "0.229,0.224,0.225" } }`
	return map[string]string{
		"bytes":  model("TYPE_UINT8", "224, 224, 3", `{ key: "layout" value { string_value: "NHWC" } }`),
		"planes": model("TYPE_FP32", "3, 224, 224", `{ key: "layout" value { string_value: "NCHW" } }, `+normalised),
		"halves": model("TYPE_FP16", "3, 224, 224", `{ key: "layout" value { string_value: "NCHW" } }, `+normalised),
		"bgr":    model("TYPE_FP32", "224, 224, 3", `{ key: "colors" value { string_value: "BGR" } }, { key: "scale" value { string_value: "1" } }`),
		"grey":   model("TYPE_UINT8", "224, 224, 1", `{ key: "colors" value { string_value: "GREY" } }`),
		"detector": `backend: "image" max_batch_size: 4
			input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
			output [
				{ name: "image" data_type: TYPE_FP32 dims: [ 3, 320, 320 ] },
				{ name: "size" data_type: TYPE_INT32 dims: [ 2 ] }, { name: "scale" data_type: TYPE_FP32 dims: [ 2 ] }
			]
			parameters [
				{ key: "preset" value { string_value: "yolo_letterbox" } },
				{ key: "size_output" value { string_value: "size" } }, { key: "scale_output" value { string_value: "scale" } }
			]`,
		"pixels": `backend: "image"
			input [ { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1, -1, 3 ] } ]
			output [ { name: "image" data_type: TYPE_UINT8 dims: [ 32, 32, 3 ] } ]
			parameters [ { key: "size" value { string_value: "32" } } ]`,
		"whole": `platform: "ensemble" max_batch_size: 4
			input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
			output [ { name: "image" data_type: TYPE_UINT8 dims: [ 224, 224, 3 ] } ]
			ensemble_scheduling { step [ { model_name: "bytes" model_version: -1
				input_map { key: "IMAGE" value: "IMAGE" } output_map { key: "image" value: "image" } } ] }`,
		"simulated": `backend: "simulator"
			input [ { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] } ]
			output [ { name: "image" data_type: TYPE_UINT8 dims: [ 224, 224, 3 ] } ]`,
	}
}

// serve runs the real services with these models, and gives the gateway's URL.
func serve(t *testing.T, models map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range models {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name, "config.pbtxt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addresses := clustertest.Up(t, folder, len(models))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return "http://" + addresses.HTTP
}

// looked is what the command says in JSON.
type looked struct {
	Decoder, Datatype, SHA256 string
	Shape                     []int64
	Channels                  []struct {
		Name           string
		Min, Max, Mean float64
	}
	Beside []struct {
		Name   string
		Values []float64
	}
	Undone bool
}

// look runs the command, and gives what it says and the files that it writes.
func look(t *testing.T, server, model, name string) (said looked, picture image.Image, array []byte) {
	t.Helper()
	folder := t.TempDir()
	drawn, saved := filepath.Join(folder, "out.png"), filepath.Join(folder, "out.npy")
	status, out, errs := run(t, nil, "preprocess", "--server", server, "--model", model, "--output", "json", "--png", drawn, "--npy", saved, testkit.Path(t, "testdata", "images", name))
	if err := json.Unmarshal([]byte(out), &said); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s %s", status, err, out, errs)
	}
	data, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if picture, err = png.Decode(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if array, err = os.ReadFile(saved); err != nil {
		t.Fatal(err)
	}
	return said, picture, array
}

// colors are the red, green and blue of all pixels.
func colors(img image.Image) []byte {
	var all []byte
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			all = append(all, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return all
}

func TestPreprocess(t *testing.T) {
	server := serve(t, preprocessors())
	_, bytesPicture, bytesArray := look(t, server, "bytes", "cat.jpg")
	t.Run("bytes", func(t *testing.T) {
		said, picture, array := look(t, server, "bytes", "cat.jpg")
		tensor := array[len(array)-224*224*3:]
		if sum := sha256.Sum256(tensor); hex.EncodeToString(sum[:]) != said.SHA256 {
			t.Error("the sum is not that of the tensor")
		}
		if !bytes.Equal(colors(picture), tensor) {
			t.Error("the picture is not the tensor")
		}
		if diff := cmp.Diff([]int64{1, 224, 224, 3}, said.Shape); diff != "" || said.Datatype != "UINT8" || said.Decoder != decode.JPEGDecoder {
			t.Errorf("%s %v", diff, said)
		}
		head := "\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1, 224, 224, 3,), }"
		if !strings.HasPrefix(string(array), head) {
			t.Errorf("the file begins with %q", array[:128])
		}
	})
	for _, model := range []string{"planes", "halves", "bgr"} {
		t.Run(model, func(t *testing.T) {
			said, picture, array := look(t, server, model, "cat.jpg")
			if !bytes.Equal(colors(picture), colors(bytesPicture)) {
				t.Error("the picture is not that of the bytes")
			}
			if !said.Undone || len(said.Channels) != 3 || len(array) <= len(bytesArray) {
				t.Errorf("%+v, %d bytes", said, len(array))
			}
		})
	}
	t.Run("grey", func(t *testing.T) {
		said, picture, array := look(t, server, "grey", "cat.jpg")
		if len(said.Channels) != 1 || said.Channels[0].Name != "Y" || said.Channels[0].Max <= said.Channels[0].Mean {
			t.Errorf("%+v", said.Channels)
		}
		if tensor, c := array[len(array)-224*224:], colors(picture); c[3*500] != tensor[500] || c[3*500+2] != tensor[500] {
			t.Errorf("pixel 500 is %v, want %d", c[1500:1503], tensor[500])
		}
	})
	t.Run("detector", func(t *testing.T) {
		said, picture, _ := look(t, server, "detector", "rocket.jpg")
		if len(said.Beside) != 2 || said.Beside[0].Name != "size" || said.Beside[0].Values[0] != 427 || said.Beside[0].Values[1] != 640 {
			t.Errorf("%+v", said.Beside)
		}
		if c := colors(picture); c[0] != 114 || c[2] != 114 || len(c) != 320*320*3 {
			t.Errorf("the corner is %v", c[:3])
		}
	})
	t.Run("text", func(t *testing.T) { checkPreprocessText(t, server) })
	t.Run("refusals", func(t *testing.T) { checkPreprocessRefusals(t, server) })
}

func checkPreprocessText(t *testing.T, server string) {
	folder := t.TempDir()
	status, out, errs := run(t, nil, "preprocess", "--server", server, "--model", "planes", "--png", filepath.Join(folder, "a.png"), "--npy", filepath.Join(folder, "a.npy"), testkit.Path(t, "testdata", "images", "cat.jpg"))
	for _, want := range []string{
		"file      cat.jpg\n", "model     planes, version 1\n", "decoder   " + decode.JPEGDecoder + "\n", "resampler pillow bicubic\n",
		"tensor    image FP32 [1,3,224,224]\n", "CHANNEL  MIN", "\nR        -", "a.npy has the tensor: numpy.load(", "a.png shows what the model sees, with scale, mean and std undone\n",
	} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, out, errs)
		}
	}
}

func checkPreprocessRefusals(t *testing.T, server string) {
	cat, notes := testkit.Path(t, "testdata", "images", "cat.jpg"), file(t, "notes.txt", "no image")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no such model":  {[]string{"--model", "nope", cat}, "triptych: unknown model \"nope\""},
		"ensemble":       {[]string{"--model", "whole", cat}, "triptych: model \"whole\" is an ensemble: ask for the step that reads images, such as --model bytes\n"},
		"other backend":  {[]string{"--model", "simulated", cat}, "triptych: model \"simulated\" is of backend \"simulator\", and only those of backend \"image\" make tensors of images\n"},
		"pixels":         {[]string{"--model", "pixels", cat}, "triptych: model \"pixels\" takes pixels that are decoded already, not files\n"},
		"no such file":   {[]string{"--model", "bytes", "absent.jpg"}, "triptych: absent.jpg can't be read: no such file or directory\n"},
		"no image":       {[]string{"--model", "bytes", notes}, "triptych: this is not an image of a known format: send JPEG, PNG, GIF, BMP, TIFF or WebP (415 Unsupported Media Type)\n"},
		"no such folder": {[]string{"--model", "bytes", "--png", "/nowhere/a.png", cat}, "triptych: --png: /nowhere/a.png can't be written: no such file or directory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := run(t, nil, append([]string{"preprocess", "--server", server}, tt.args...)...)
			if status != 1 || out != "" || !strings.HasPrefix(errs, tt.want) {
				t.Errorf("status %d, %q, %q, want %q", status, out, errs, tt.want)
			}
		})
	}
}

// Answers that are not what a gateway says are failures, not pictures.
func TestPreprocessAnswers(t *testing.T) {
	config := `{"name":"m","backend":"image","input":[{"name":"IMAGE","data_type":"TYPE_STRING","dims":["1"]}],"output":[{"name":"image","data_type":"TYPE_UINT8","dims":["1","1","3"]}]}`
	head := `{"model_version":"1","outputs":[{"name":"image","datatype":"UINT8","shape":[1,1,3],"parameters":{"binary_data_size":3}}]}`
	cat := testkit.Path(t, "testdata", "images", "cat.jpg")
	for name, tt := range map[string]struct {
		length, body, want string
		status             int
	}{
		"good":        {fmt.Sprint(len(head)), head + "abc", "image UINT8 [1,1,3]", 0},
		"no length":   {"", head + "abc", "is not what a gateway says", 1},
		"too long":    {"99999", head + "abc", "is not what a gateway says", 1},
		"short":       {fmt.Sprint(len(head)), head + "ab", "is not what a gateway says", 1},
		"more":        {fmt.Sprint(len(head)), head + "abcd", "is not what a gateway says", 1},
		"other shape": {fmt.Sprint(len(head)), strings.Replace(head, "[1,1,3]", "[1,1,4]", 1) + "abc", "has 3 bytes", 1},
		"other type":  {fmt.Sprint(len(head)), strings.Replace(head, "UINT8", "INT64", 1) + "abc", "not what images are laid out in", 1},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /v2/models/m/config", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, config) })
			mux.HandleFunc("GET /v2/models/m", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"name":"m"}`) })
			mux.HandleFunc("POST /v2/models/m/infer", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Inference-Header-Content-Length", tt.length)
				_, _ = io.WriteString(w, tt.body)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			status, out, errs := run(t, nil, "preprocess", "--server", server.URL, "--model", "m", cat)
			if status != tt.status || !strings.Contains(out+errs, tt.want) {
				t.Errorf("status %d, %q %q, want %d, %q", status, out, errs, tt.status, tt.want)
			}
		})
	}
}
