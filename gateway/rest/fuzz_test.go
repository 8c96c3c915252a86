package rest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"triptych/gateway/rest"
	"triptych/gateway/rest/jsonlex"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// FuzzElements: whatever is taken has the bytes of its shape, and is valid JSON
// that comes back the same.
func FuzzElements(f *testing.F) {
	f.Add("UINT8", int64(2), int64(2), []byte(`[[1,2],[3,4]]`))
	f.Add("INT64", int64(1), int64(2), []byte(`[-9223372036854775808, 1e3]`))
	f.Add("FP32", int64(1), int64(1), []byte(`[1e400]`))
	f.Add("FP64", int64(3), int64(1), []byte(`[0.1,-0,5e-324]`))
	f.Add("BYTES", int64(1), int64(2), []byte(`["","\u00e9"]`))
	f.Add("BOOL", int64(4611686018427387904), int64(4), []byte(`[true]`))
	f.Fuzz(func(t *testing.T, datatype string, a, b int64, text []byte) {
		shape := []int64{a, b}
		data, err := rest.ReadElements(jsonlex.New(text), datatype, shape, false)
		var known *failure.Error
		if err != nil {
			if !errors.As(err, &known) || known.Kind != failure.Invalid {
				t.Fatalf("the failure %v is not Invalid", err)
			}
			return
		}
		back, err := rest.AppendData(nil, datatype, shape, data, false)
		if err != nil {
			t.Fatalf("%q was taken for %s of %s but does not come back: %v", text, datatype, oip.FormatShape(shape), err)
		}
		if !json.Valid(back) {
			t.Fatalf("%q is not JSON", back)
		}
		again, err := rest.ReadElements(jsonlex.New(back), datatype, shape, false)
		if err != nil || string(again) != string(data) {
			t.Fatalf("%q became %x, then %q, then %x (%v)", text, data, back, again, err)
		}
	})
}

// FuzzParse: the parts of a body never overlap and never leave anything over.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"inputs":[{"name":"a","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}}]}`), []byte("hi"))
	f.Add([]byte(`{"id":"x","parameters":{"timeout":1},"inputs":[{"name":"a","datatype":"BYTES","shape":[1],"data":["x"]},{"name":"b","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}}],"outputs":[{"name":"o","parameters":{"classification":3}}]}`), []byte("x"))
	f.Add([]byte(`{"inputs":[{"name":"a","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":9223372036854775807}}]}`), []byte("hi"))
	f.Fuzz(func(t *testing.T, header, binary []byte) {
		req, err := rest.Parse(header, binary)
		if err != nil {
			var known *failure.Error
			if !errors.As(err, &known) {
				t.Fatalf("%v has no Kind", err)
			}
			return
		}
		if len(req.GetInputs()) != len(req.GetRawInputContents()) {
			t.Fatalf("%d inputs, %d contents", len(req.GetInputs()), len(req.GetRawInputContents()))
		}
		total := 0
		for _, data := range req.GetRawInputContents() {
			total += len(data)
		}
		if total < len(binary) {
			t.Fatalf("%d bytes of %d are left over", len(binary)-total, len(binary))
		}
	})
}
