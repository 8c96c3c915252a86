package rest_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/gateway/internal/fake"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares an answer with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = append(bytes.TrimSpace(got), '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func floats(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// server is a fake with a model for each kind of case.
func server() *fake.Server {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	s := &fake.Server{Models: []fake.Model{
		fake.Echo("floats", inference.DataType_TYPE_FP32, -1),
		fake.Echo("integers", inference.DataType_TYPE_INT64, -1),
		fake.Echo("texts", inference.DataType_TYPE_STRING, -1),
		fake.Echo("image", inference.DataType_TYPE_STRING, 1),
		fake.Echo("grid", inference.DataType_TYPE_UINT8, 2, 3),
		fake.Echo("rows", inference.DataType_TYPE_UINT8, -1, 3),
		fake.Constant("strange", oip.Tensor{Name: "OUT", Datatype: "FP32", Shape: []int64{4}, Data: floats(nan, inf, -inf, 1)}),
		fake.Constant("half", oip.Tensor{Name: "OUT", Datatype: "FP16", Shape: []int64{1}, Data: []byte{0, 60}}),
		fake.Constant("lying", oip.Tensor{Name: "OUT", Datatype: "FP32", Shape: []int64{3}, Data: floats(1, 2)}),
		fake.Constant("octets", oip.Tensor{Name: "OUT", Datatype: oip.Bytes, Shape: []int64{1}, Data: oip.JoinStrings("\xff\x00")}),
		fake.Constant("pair",
			oip.Tensor{Name: "A", Datatype: "INT32", Shape: []int64{1}, Data: []byte{1, 0, 0, 0}},
			oip.Tensor{Name: "B", Datatype: "FP32", Shape: []int64{3}, Data: floats(0.25, nan, 0.5)}),
	}}
	loading := fake.Echo("loading", inference.DataType_TYPE_FP32, 1)
	loading.Fault = failure.New(failure.Unavailable, "model %q is loading", "loading")
	big := fake.Echo("big", inference.DataType_TYPE_UINT8, 224, 224, 3)
	big.Config.MaxBatchSize = 8
	s.Models = append(s.Models, loading, big)
	return s
}

// long is a name that no directory could have.
var long = strings.Repeat("m", 1000)
