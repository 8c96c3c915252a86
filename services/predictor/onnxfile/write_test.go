package onnxfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A writer of ONNX, as far as these tests go. The numbers are those of
// onnx.proto3.

func part(number protowire.Number, fields ...[]byte) []byte {
	var content []byte
	for _, f := range fields {
		content = append(content, f...)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func text(number protowire.Number, s string) []byte { return part(number, []byte(s)) }

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

// opset is an OperatorSetIdProto, as the field n.
func opset(n protowire.Number, domain string, version uint64) []byte {
	return part(n, text(1, domain), number(2, version))
}

// value is an input or output of floats.
func value(n protowire.Number, name string, dims ...uint64) []byte {
	return valueOf(1, n, name, dims...)
}

// valueOf is an input or output of a TensorProto.DataType.
func valueOf(kind uint64, n protowire.Number, name string, dims ...uint64) []byte {
	var shape []byte
	for _, d := range dims {
		shape = append(shape, part(1, number(1, d))...)
	}
	return part(n, text(1, name), part(2, part(1, number(1, kind), part(2, shape))))
}

// node is a NodeProto with an input and an output, as a field of a graph.
func node(op, domain, in, out string, more ...[]byte) []byte {
	return part(1, append([][]byte{text(1, in), text(2, out), text(4, op), text(7, domain)}, more...)...)
}

// identity is a graph: y is x.
func identity(op, domain string) []byte {
	return part(7, node(op, domain, "x", "y"), text(2, "g"), value(11, "x", 1, 3), value(12, "y", 1, 3))
}

// weights are a TensorProto in another file, as the field n; keys and values.
func weights(n protowire.Number, name string, dims []uint64, external ...string) []byte {
	var fields []byte
	for _, d := range dims {
		fields = append(fields, number(1, d)...)
	}
	fields = append(append(fields, number(2, 1)...), text(8, name)...)
	for i := 0; i < len(external); i += 2 {
		fields = append(fields, part(13, text(1, external[i]), text(2, external[i+1]))...)
	}
	return part(n, fields, number(14, 1))
}

// adding is a graph: y is x plus the weights w, which are [1,3] in another file.
func adding(external ...string) []byte {
	return part(7,
		part(1, text(1, "x"), text(1, "w"), text(2, "y"), text(4, "Add")), text(2, "g"),
		weights(5, "w", []uint64{1, 3}, external...), value(11, "x", 1, 3), value(12, "y", 1, 3))
}

// model is a ModelProto of version 8 with opset 17.
func model(graph []byte, more ...[]byte) []byte {
	return file(8, append([][]byte{graph, opset(8, "", 17)}, more...)...)
}

func file(ir uint64, fields ...[]byte) []byte {
	content := append(number(1, ir), text(2, "triptych")...)
	for _, f := range fields {
		content = append(content, f...)
	}
	return content
}

// save writes a file into a new folder and gives its path.
func save(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "model.onnx")
	put(tb, path, content)
	return path
}

func put(tb testing.TB, path string, content []byte) {
	tb.Helper()
	must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must(tb, os.WriteFile(path, content, 0o600))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
