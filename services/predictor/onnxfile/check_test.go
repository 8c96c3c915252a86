package onnxfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"triptych/services/predictor/onnxfile"
	"triptych/shared/failure"
)

// limits are those of a runtime that does not change under the tests.
var limits = onnxfile.LimitsOf("1.24.4")

// wantFailure compares the message; "" wants none.
func wantFailure(t *testing.T, err error, message string) {
	t.Helper()
	switch {
	case err == nil && message == "":
	case err == nil:
		t.Errorf("no error, want %q", message)
	case failure.KindOf(err) != failure.Invalid || failure.Message(err) != message:
		t.Errorf("got %s %q\nwant %q", failure.KindOf(err), failure.Message(err), message)
	}
}

func TestCheckVersions(t *testing.T) {
	plain := identity("Identity", "")
	for name, tt := range map[string]struct {
		content []byte
		message string
	}{
		"good":                     {model(plain), ""},
		"ORT-08 IR 99":             {file(99, plain, opset(8, "", 17)), "it has IR version 99, ONNX Runtime 1.24.4 takes up to 13 (written by triptych)"},
		"ORT-08 opset 99":          {file(8, plain, opset(8, "", 99)), "it has opset 99 of ai.onnx, ONNX Runtime 1.24.4 takes up to 25 (written by triptych)"},
		"ORT-08 the other name":    {file(8, plain, opset(8, "ai.onnx", 26)), "it has opset 26 of ai.onnx, ONNX Runtime 1.24.4 takes up to 25 (written by triptych)"},
		"ORT-08 ai.onnx.ml":        {model(plain, opset(8, "ai.onnx.ml", 6)), "it has opset 6 of ai.onnx.ml, ONNX Runtime 1.24.4 takes up to 5 (written by triptych)"},
		"ORT-08 com.microsoft":     {model(plain, opset(8, "com.microsoft", 2)), "it has opset 2 of com.microsoft, ONNX Runtime 1.24.4 takes up to 1 (written by triptych)"},
		"ORT-08 in a function":     {model(plain, part(25, text(1, "f"), text(10, "my"), opset(9, "", 99))), "it has opset 99 of ai.onnx, ONNX Runtime 1.24.4 takes up to 25 (written by triptych)"},
		"ORT-08 unknown domain":    {model(identity("Blur", "com.example"), opset(8, "com.example", 1)), `it uses the operator "com.example:Blur", whose domain is neither the runtime's nor defined in the file`},
		"a domain nobody uses":     {model(plain, opset(8, "com.example", 7)), ""},
		"a domain of functions":    {model(identity("Blur", "com.example"), opset(8, "com.example", 1), part(25, text(1, "Blur"), text(10, "com.example"), text(4, "x"), text(5, "y"), part(7, text(4, "Identity")), opset(9, "", 17))), ""},
		"a function of two":        {model(part(7, node("Blur", "d", "x", "y"), node("Sharpen", "d", "y", "z")), part(25, text(1, "Blur"), text(10, "d"))), `it uses the operator "d:Sharpen", whose domain is neither the runtime's nor defined in the file`},
		"in the branch of an If":   {model(part(7, node("If", "", "x", "y", part(5, text(1, "then_branch"), part(6, node("Blur", "d", "x", "y")))))), `it uses the operator "d:Blur", whose domain is neither the runtime's nor defined in the file`},
		"in a function's body":     {model(plain, part(25, text(1, "f"), text(10, "my"), part(7, text(4, "Blur"), text(7, "d")))), `it uses the operator "d:Blur", whose domain is neither the runtime's nor defined in the file`},
		"the runtime's own":        {model(identity("Gelu", "com.microsoft"), opset(8, "com.microsoft", 1)), ""},
		"the runtime's format":     {[]byte("\x18\x00\x00\x00ORTM and whatever follows"), ""},
		"too many nested":          {model(nested(60)), "it has more than 100 messages within each other"},
		"as many as protobuf":      {model(nested(32)), ""},
		"no graph":                 {file(8, opset(8, "", 17)), "the file ends in the middle, or it is no ONNX model: in its 18 bytes there is no graph or no opset_import"},
		"no opset":                 {file(8, part(7)), "the file ends in the middle, or it is no ONNX model: in its 14 bytes there is no graph or no opset_import"},
		"empty":                    {nil, "the file ends in the middle, or it is no ONNX model: in its 0 bytes there is no graph or no opset_import"},
		"text":                     {[]byte("this is no model at all"), "it is no ONNX model, or damaged at byte 1 of 23"},
		"a group":                  {append(model(plain), 0x0b), "it is no ONNX model, or damaged at byte 86 of 86"},
		"field 0":                  {append(model(plain), 0x00, 0x00), "it is no ONNX model, or damaged at byte 86 of 87"},
		"a graph that is a number": {model(number(7, 1)), "it is no ONNX model, or damaged at byte 14 of 20"},
		"longer than its parent":   {model(append([]byte{0x3a, 0x02, 0x0a, 0x05}, identity("Identity", "")...)), "it is no ONNX model, or damaged at byte 16 of 89"},
		"a length of 2^63":         {model([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}), "the file ends in the middle: it has 29 bytes, but what begins at byte 23 goes on"},
		"a number of 11 bytes":     {append(model(plain), bytes.Repeat([]byte{0xff}, 11)...), "it is no ONNX model, or damaged at byte 85 of 96"},
	} {
		t.Run(name, func(t *testing.T) { wantFailure(t, onnxfile.Check(save(t, tt.content), limits), tt.message) })
	}
}

// nested is a graph within a graph, n times.
func nested(n int) []byte {
	graph := part(7)
	for range n {
		inner := graph[1:]
		graph = part(7, part(1, text(4, "If"), part(5, append([]byte{6<<3 | 2}, inner...))))
	}
	return graph
}

// REP-04: a copy that is not finished is told from a whole file, wherever it was
// cut.
func TestReadableTorn(t *testing.T) {
	content := model(adding("location", "w.bin", "offset", "4", "length", "12"), opset(8, "com.microsoft", 1))
	path := save(t, content)
	put(t, filepath.Join(filepath.Dir(path), "w.bin"), make([]byte, 16))
	must(t, onnxfile.Check(path, onnxfile.Limits{}))
	opsets := len(opset(8, "", 17)) + len(opset(8, "com.microsoft", 1))
	for size := range content {
		put(t, path, content[:size])
		err := onnxfile.Check(path, onnxfile.Limits{})
		// Without its last opset the file is as whole as any.
		whole := size == len(content)-len(opset(8, "com.microsoft", 1))
		if whole != (err == nil) || err != nil && !bytes.Contains([]byte(failure.Message(err)), []byte("the file ends in the middle")) {
			t.Errorf("%d of %d bytes (the opsets have %d): %v", size, len(content), opsets, err)
		}
	}
}

func TestReadableNoFile(t *testing.T) {
	folder := t.TempDir()
	wantFailure(t, onnxfile.Check(filepath.Join(folder, "model.onnx"), onnxfile.Limits{}), "it is not a regular file")
	wantFailure(t, onnxfile.Check(folder, onnxfile.Limits{}), "it is not a regular file")
	pipe := filepath.Join(folder, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	wantFailure(t, onnxfile.Check(pipe, onnxfile.Limits{}), "it is not a regular file")
}

// A file of any size is read in no more memory than a small one: most of it is
// stepped over. One of 2 GiB and more is no ONNX file, and is told so.
func TestCheckLargeFile(t *testing.T) {
	const raw = 5 << 30 // bytes of one tensor
	head := file(8, opset(8, "", 17))
	tail := node("Identity", "", "x", "y")
	weights := append(append(text(8, "w"), 9<<3|2), varint(raw)...)
	tensor := append(append([]byte{5<<3 | 2}, varint(uint64(len(weights)+raw))...), weights...)
	graph := append([]byte{7<<3 | 2}, varint(uint64(len(tensor)+raw+len(tail)))...)
	path := save(t, append(append(head, graph...), tensor...))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	info, err := f.Stat()
	must(t, err)
	_, err = f.WriteAt(tail, info.Size()+raw)
	must(t, err)
	_, err = onnxfile.Read(path)
	must(t, err)
	size := info.Size() + raw + int64(len(tail))
	if err := onnxfile.Check(path, limits); failure.Message(err) != "the file has "+decimal(size)+" bytes, one of ONNX takes up to 2147483647: its weights must be saved as external data" {
		t.Error(err)
	}
	bytes := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			_, err := onnxfile.Read(path)
			must(b, err)
		}
	}).AllocedBytesPerOp()
	if bytes > 128<<10 {
		t.Errorf("%d bytes of memory are taken", bytes)
	}
	must(t, os.Truncate(path, size-1))
	if _, err := onnxfile.Read(path); err == nil {
		t.Error("a byte is missing and nobody sees it")
	}
}

func wantKind(t *testing.T, err error) {
	t.Helper()
	if err != nil && failure.KindOf(err) != failure.Invalid {
		t.Errorf("%v is %s", err, failure.KindOf(err))
	}
}
