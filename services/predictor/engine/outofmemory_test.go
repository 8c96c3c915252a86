package engine_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"triptych/services/predictor/engine"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// hungry takes four bytes for each of the numbers that its inputs add up to.
const hungry = `max_batch_size: 8
  input [ { name: "x" data_type: TYPE_INT64 dims: [ 1 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]`

func wants(numbers ...uint64) oip.Tensor {
	var data []byte
	for _, n := range numbers {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return oip.Tensor{Name: "x", Datatype: "INT64", Shape: []int64{int64(len(numbers)), 1}, Data: data}
}

// A batch that does not fit is told apart from a model that fails, and the
// session serves on.
func TestOutOfMemory(t *testing.T) {
	for name, parameters := range map[string]string{
		"arena":    "",
		"no arena": ` parameters { key: "enable_mem_arena" value { string_value: "0" } }`,
	} {
		t.Run(name, func(t *testing.T) {
			session := load(t, testModel(t, "hungry", hungry+parameters))
			const each = 1 << 45 // 128 TiB: more than any address has
			_, err := session.Run(t.Context(), []oip.Tensor{wants(each, each, 1)})
			wantFailure(t, err, failure.Internal, `model "hungry" has not enough memory on cpu for a batch of 3`)
			if !engine.OutOfMemory(err) {
				t.Errorf("not out of memory: %v", err)
			}
			if !strings.Contains(strings.ToLower(err.Error()), "alloc") {
				t.Errorf("the log lacks the runtime's words: %v", err)
			}
			for range 3 {
				run(t, session, wants(1, 2, 3))
			}
		})
	}
	if engine.OutOfMemory(nil) {
		t.Error("no error is out of memory")
	}
	other := load(t, testModel(t, "lookup", `max_batch_size: 4
		input [ { name: "index" data_type: TYPE_INT64 dims: [ 1 ] } ]
		output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]`))
	in := wants(10)
	in.Name = "index"
	if _, err := other.Run(t.Context(), []oip.Tensor{in}); err == nil || engine.OutOfMemory(err) {
		t.Errorf("another failure: %v", err)
	}
}
