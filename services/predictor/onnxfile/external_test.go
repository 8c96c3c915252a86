package onnxfile_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"triptych/services/predictor/onnxfile"
)

func varint(v uint64) []byte { return protowire.AppendVarint(nil, v) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// ORT-06: weights in other files are there, long enough and inside of the
// folder, or the model is not loaded.
func TestCheckExternal(t *testing.T) {
	at := func(location string) []byte { return model(adding("location", location)) }
	for name, tt := range map[string]struct {
		content []byte
		files   map[string]int // sizes
		links   map[string]string
		message string
	}{
		"ORT-06 there":                   {at("w.bin"), map[string]int{"w.bin": 12}, nil, ""},
		"ORT-06 longer than needed":      {at("w.bin"), map[string]int{"w.bin": 4096}, nil, ""},
		"ORT-06 in a folder":             {at("data/w.bin"), map[string]int{"data/w.bin": 12}, nil, ""},
		"ORT-06 a name with spaces":      {at("my weights (1).bin"), map[string]int{"my weights (1).bin": 12}, nil, ""},
		"ORT-06 a link inside":           {at("w.bin"), map[string]int{"..data/w.bin": 12}, map[string]string{"w.bin": "..data/w.bin"}, ""},
		"ORT-06 missing":                 {at("w.bin"), nil, nil, `its weights "w.bin" are not there`},
		"ORT-06 dangling link":           {at("w.bin"), nil, map[string]string{"w.bin": "gone"}, `its weights "w.bin" are not there`},
		"ORT-06 cut by 1 byte":           {at("w.bin"), map[string]int{"w.bin": 11}, nil, `its weights "w.bin" end in the middle: they have 11 bytes, but "w" is 12 bytes at 0`},
		"ORT-06 cut by 1 byte, offset":   {model(adding("location", "w", "offset", "4096", "length", "12")), map[string]int{"w": 4107}, nil, `its weights "w" end in the middle: they have 4107 bytes, but "w" is 12 bytes at 4096`},
		"ORT-06 cut to a page":           {model(adding("location", "w", "offset", "4096", "length", "12")), map[string]int{"w": 4096}, nil, `its weights "w" end in the middle: they have 4096 bytes, but "w" is 12 bytes at 4096`},
		"ORT-06 empty":                   {at("w.bin"), map[string]int{"w.bin": 0}, nil, `its weights "w.bin" end in the middle: they have 0 bytes, but "w" is 12 bytes at 0`},
		"ORT-06 traversal":               {at("../../etc/passwd"), nil, nil, `its weights "../../etc/passwd" leave the folder of the model file`},
		"ORT-06 traversal inside":        {at("a/../w.bin"), map[string]int{"w.bin": 12}, nil, `its weights "a/../w.bin" leave the folder of the model file`},
		"ORT-06 absolute":                {at("/etc/passwd"), nil, nil, `its weights "/etc/passwd" leave the folder of the model file`},
		"ORT-06 a link that leaves":      {at("w.bin"), nil, map[string]string{"w.bin": "/etc/passwd"}, `its weights "w.bin" leave the folder of the model file`},
		"ORT-06 a linked folder":         {at("etc/passwd"), nil, map[string]string{"etc": "/etc"}, `its weights "etc/passwd" leave the folder of the model file`},
		"ORT-06 a folder":                {at("data"), map[string]int{"data/x": 1}, nil, `its weights "data" are not a regular file`},
		"ORT-06 a place in memory":       {at("*/_ORT_MEM_ADDR_/*"), nil, nil, `its weights "*/_ORT_MEM_ADDR_/*" are not there`},
		"ORT-06 no location":             {model(adding("offset", "0")), nil, nil, `the weights of "w" are in another file, but its location has 0 bytes`},
		"ORT-06 offset below 0":          {model(adding("location", "w", "offset", "-1")), nil, nil, `the weights of "w" are in another file, but the offset "-1" is no number of bytes`},
		"ORT-06 a length of words":       {model(adding("location", "w", "length", "all")), nil, nil, `the weights of "w" are in another file, but the length "all" is no number of bytes`},
		"ORT-06 an end beyond all files": {model(adding("location", "w", "offset", "9223372036854775807", "length", "1")), nil, nil, `the weights of "w" are 1 bytes at 9223372036854775807 of another file, which is too much`},
		"ORT-06 in a constant":           {model(part(7, node("Constant", "", "", "y", part(5, text(1, "value"), weights(5, "c", []uint64{2}, "location", "c"))))), nil, nil, `its weights "c" are not there`},
		"ORT-06 in a branch":             {model(part(7, node("If", "", "x", "y", part(5, part(6, weights(5, "b", nil, "location", "b")))))), nil, nil, `its weights "b" are not there`},
		"ORT-06 in a function":           {model(part(7), part(25, text(1, "f"), part(7, part(5, part(11, weights(5, "f", nil, "location", "f")))))), nil, nil, `its weights "f" are not there`},
		"ORT-06 in a sparse tensor":      {model(part(7, part(15, weights(1, "s", []uint64{2}, "location", "s")))), nil, nil, `its weights "s" are not there`},
		"ORT-06 in training":             {model(part(7), part(20, part(1, weights(5, "t", []uint64{2}, "location", "t")))), nil, nil, `its weights "t" are not there`},
		"two tensors, the second cut": {
			model(part(7, weights(5, "a", []uint64{2}, "location", "w", "offset", "8", "length", "8"), weights(5, "b", []uint64{2}, "location", "w", "offset", "0", "length", "8"))),
			map[string]int{"w": 10},
			nil, `its weights "w" end in the middle: they have 10 bytes, but "a" is 8 bytes at 8`,
		},
		"dims in one field": {
			model(part(7, part(5, text(1, "\x80\x08\x02"), number(2, 1), text(8, "p"), part(13, text(1, "location"), text(2, "w")), number(14, 1)))),
			map[string]int{"w": 8191},
			nil, `its weights "w" end in the middle: they have 8191 bytes, but "p" is 8192 bytes at 0`,
		},
		"dims that overflow": {
			model(part(7, weights(5, "h", []uint64{1 << 62, 1 << 62}, "location", "w"))),
			map[string]int{"w": 8},
			nil, `its weights "w" end in the middle: they have 8 bytes, but "h" is 1152921504606846976 bytes at 0`,
		},
		"data in the file itself": {model(part(7, part(5, text(8, "i"), part(13, text(1, "location"), text(2, "w"))))), nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := save(t, tt.content)
			folder := filepath.Dir(path)
			for name, size := range tt.files {
				put(t, filepath.Join(folder, name), make([]byte, size))
			}
			for name, target := range tt.links {
				must(t, os.Symlink(target, filepath.Join(folder, name)))
			}
			wantFailure(t, onnxfile.Check(path, limits), tt.message)
			wantFailure(t, onnxfile.Check(path, onnxfile.Limits{}), tt.message)
		})
	}
}

// A folder that is itself a link, as a mount of Kubernetes has it, is no way out.
func TestCheckLinkedFolder(t *testing.T) {
	path := save(t, model(adding("location", "w.bin")))
	put(t, filepath.Join(filepath.Dir(path), "w.bin"), make([]byte, 12))
	link := filepath.Join(t.TempDir(), "1")
	must(t, os.Symlink(filepath.Dir(path), link))
	must(t, onnxfile.Check(filepath.Join(link, "model.onnx"), limits))
}

func TestRead(t *testing.T) {
	got, err := onnxfile.Read(save(t, model(adding("location", "w.bin", "offset", "8", "checksum", "x"), text(3, "1.2"), opset(8, "com.microsoft", 1))))
	must(t, err)
	want := &onnxfile.Header{
		IRVersion: 8, Opsets: map[string]int64{"": 17, "com.microsoft": 1}, Producer: "triptych", ProducerVersion: "1.2",
		External: map[string]onnxfile.External{"w.bin": {Tensor: "w", Offset: 8, Length: 12}},
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		return p.String() == "graph" || p.String() == "operators" || p.String() == "functions"
	}, cmp.Ignore()), cmp.AllowUnexported(onnxfile.Header{})); diff != "" {
		t.Error(diff)
	}
}

// No file may break the reader, and none that passes may lead out of its folder.
func FuzzRead(f *testing.F) {
	f.Add(model(adding("location", "w.bin", "offset", "4", "length", "12")))
	f.Add(model(identity("Blur", "d"), part(25, text(1, "Blur"), text(10, "d"), opset(9, "", 99))))
	f.Add(model(nested(3)))
	f.Fuzz(func(t *testing.T, content []byte) {
		wantKind(t, onnxfile.Check(save(t, content), limits))
	})
}
