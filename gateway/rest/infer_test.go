package rest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"triptych/gateway/internal/fronttest"
	"triptych/gateway/rest"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// answer is the document of an infer answer.
type answer struct {
	ID           *string        `json:"id"`
	ModelName    string         `json:"model_name"`
	ModelVersion string         `json:"model_version"`
	Parameters   map[string]any `json:"parameters"`
	Outputs      []struct {
		Name       string          `json:"name"`
		Datatype   string          `json:"datatype"`
		Shape      []int64         `json:"shape"`
		Parameters map[string]any  `json:"parameters"`
		Data       json.RawMessage `json:"data"`
	} `json:"outputs"`
}

func read(t *testing.T, a fronttest.Answer) (answer, []byte) {
	t.Helper()
	text, tail := a.Body, []byte(nil)
	if h := a.Header.Get(rest.HeaderLength); h != "" {
		n, err := strconv.Atoi(h)
		if err != nil || n > len(a.Body) {
			t.Fatalf("header length %q of a body of %d", h, len(a.Body))
		}
		text, tail = a.Body[:n], a.Body[n:]
	}
	var doc answer
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("status %d, %v: %s", a.Status, err, text)
	}
	return doc, tail
}

// TestRoundTrip sends each datatype as JSON to its echo and compares the JSON
// that comes back, then the same as binary data.
func TestRoundTrip(t *testing.T) {
	cases := map[string]struct{ data, back string }{
		"BOOL":   {`[true,false,true]`, ``},
		"INT8":   {`[-128,0,127]`, ``},
		"INT16":  {`[-32768,0,32767]`, ``},
		"INT32":  {`[-2147483648,0,2147483647]`, ``},
		"INT64":  {`[-9223372036854775808,9007199254740993,9223372036854775807]`, ``},
		"UINT8":  {`[0,1,255]`, ``},
		"UINT16": {`[0,1,65535]`, ``},
		"UINT32": {`[0,1,4294967295]`, ``},
		"UINT64": {`[0,9007199254740993,18446744073709551615]`, ``},
		"FP32":   {`[0.1,-1.5e-9,3e38]`, `[0.1,-1.5e-09,3e+38]`},
		"FP64":   {`[0.1,1.7976931348623157e308,-0]`, `[0.1,1.7976931348623157e+308,-0]`},
		"BYTES":  {`["","é\"\\\n\u0001","日本"]`, ``},
	}
	for datatype, tc := range cases {
		t.Run(datatype, func(t *testing.T) {
			server := server()
			echo := server.Models[0]
			echo.Config.Input[0].DataType, echo.Config.Output[0].DataType = oip.DataType(datatype), oip.DataType(datatype)
			s := fronttest.Start(t, server)
			body := fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":%q,"shape":[3],"data":%s}]}`, datatype, tc.data)
			a := s.Post("/v2/models/floats/infer", []byte(body))
			doc, _ := read(t, a)
			want := tc.back
			if want == "" {
				want = tc.data
			}
			if a.Status != http.StatusOK || string(doc.Outputs[0].Data) != want {
				t.Fatalf("%d %s, want %s", a.Status, a.Body, want)
			}
			a = s.Post("/v2/models/floats/infer", []byte(strings.Replace(body, `{"inputs"`, `{"parameters":{"binary_data_output":true},"inputs"`, 1)))
			_, data := read(t, a)
			header := fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":%q,"shape":[3],"parameters":{"binary_data_size":%d}}]}`, datatype, len(data))
			a = s.Post("/v2/models/floats/infer", append([]byte(header), data...), rest.HeaderLength, strconv.Itoa(len(header)))
			if doc, _ := read(t, a); string(doc.Outputs[0].Data) != want {
				t.Errorf("binary: %d %s, want %s", a.Status, a.Body, want)
			}
		})
	}
}

// TestData is OIP-03, OIP-05 and OIP-08: what data and shapes are accepted.
func TestData(t *testing.T) {
	s := fronttest.Start(t, server())
	post := func(model, input string) fronttest.Answer {
		return s.Post("/v2/models/"+model+"/infer", []byte(`{"inputs":[`+input+`]}`))
	}
	good := map[string]struct{ model, input, data string }{
		"flat":                     {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5,6]}`, `[1,2,3,4,5,6]`},
		"nested":                   {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[[1,2,3],[4,5,6]]}`, `[1,2,3,4,5,6]`},
		"data before shape":        {"grid", `{"data":[[1,2,3],[4,5,6]],"shape":[2,3],"datatype":"UINT8","name":"IN"}`, `[1,2,3,4,5,6]`},
		"shape from JavaScript":    {"grid", `{"name":"IN","datatype":"UINT8","shape":[2.0,3.0],"data":[1,2,3,4,5,6.0]}`, `[1,2,3,4,5,6]`},
		"null optionals":           {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"parameters":null,"data":[1,2,3,4,5,6]}`, `[1,2,3,4,5,6]`},
		"no elements":              {"floats", `{"name":"IN","datatype":"FP32","shape":[0],"data":[]}`, `[]`},
		"no elements, nested":      {"rows", `{"name":"IN","datatype":"UINT8","shape":[0,3],"data":[]}`, `[]`},
		"whole numbers for floats": {"floats", `{"name":"IN","datatype":"FP32","shape":[2],"data":[1,-2]}`, `[1,-2]`},
		"text":                     {"texts", `{"name":"IN","datatype":"BYTES","shape":[1],"data":["aGk="]}`, `["aGk="]`},
		"base64":                   {"texts", `{"name":"IN","datatype":"BYTES","shape":[2],"data":["aGk=",""],"parameters":{"content_type":"base64"}}`, `["hi",""]`},
		"parameters first":         {"texts", `{"parameters":{"content_type":"base64"},"name":"IN","datatype":"BYTES","shape":[1],"data":["aGk="]}`, `["hi"]`},
		"unknown members":          {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"what":{"is":["this"]},"data":[1,2,3,4,5,6]}`, `[1,2,3,4,5,6]`},
	}
	for name, tc := range good {
		t.Run(name, func(t *testing.T) {
			a := post(tc.model, tc.input)
			if doc, _ := read(t, a); a.Status != http.StatusOK || string(doc.Outputs[0].Data) != tc.data {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	bad := map[string]struct{ model, input, says string }{
		"negative dimension":        {"floats", `{"name":"IN","datatype":"FP32","shape":[-1],"data":[1]}`, "negative"},
		"shape as texts":            {"floats", `{"name":"IN","datatype":"FP32","shape":["-1"],"data":[1]}`, "a number"},
		"shape as a text":           {"floats", `{"name":"IN","datatype":"FP32","shape":"[1]","data":[1]}`, `"shape" must be a list`},
		"no dimensions":             {"floats", `{"name":"IN","datatype":"FP32","shape":[],"data":[1]}`, "shape"},
		"zero dimension":            {"grid", `{"name":"IN","datatype":"UINT8","shape":[0,3],"data":[]}`, "[2,3]"},
		"too few dimensions":        {"grid", `{"name":"IN","datatype":"UINT8","shape":[6],"data":[1,2,3,4,5,6]}`, "[2,3]"},
		"product overflows":         {"grid", `{"name":"IN","datatype":"UINT8","shape":[2147483647,2147483647,4],"data":[1]}`, "counted"},
		"product overflows to 0":    {"grid", `{"name":"IN","datatype":"UINT8","shape":[4611686018427387904,4],"data":[]}`, "counted"},
		"a great promise":           {"floats", `{"name":"IN","datatype":"FP32","shape":[4611686018427387904],"data":[1]}`, "data"},
		"half a dimension":          {"grid", `{"name":"IN","datatype":"UINT8","shape":[1.5,3],"data":[1]}`, "1.5"},
		"10,000 dimensions":         {"floats", `{"name":"IN","datatype":"FP32","shape":[1` + strings.Repeat(",1", 9999) + `],"data":[1]}`, "dimensions"},
		"dimension beyond 64 bits":  {"floats", `{"name":"IN","datatype":"FP32","shape":[1e30],"data":[1]}`, "1e30"},
		"data not a list":           {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":1}`, `"data" must be a list`},
		"data an object":            {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":{"b64":".."}}`, `"data" must be a list`},
		"too few elements":          {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5]}`, "has 5 elements"},
		"too many elements":         {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5,6,7]}`, "more than 6"},
		"ragged":                    {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[[1,2,3,4],[5,6]]}`, "wants 3"},
		"nested too deep":           {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[[[1],2,3],[4,5,6]]}`, "nested deeper"},
		"mixed":                     {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[[1,2,3],4,5,6]}`, "mixes"},
		"another type":              {"floats", `{"name":"IN","datatype":"UINT8","shape":[1],"data":[1]}`, `input "IN" has datatype "UINT8", the model wants FP32`},
		"FP64 for FP32":             {"floats", `{"name":"IN","datatype":"FP64","shape":[1],"data":[1]}`, "the model wants FP32"},
		"unknown type":              {"floats", `{"name":"IN","datatype":"float32","shape":[1],"data":[1]}`, `unknown datatype "float32"`},
		"empty type":                {"floats", `{"name":"IN","datatype":"","shape":[1],"data":[1]}`, `unknown datatype ""`},
		"no type":                   {"floats", `{"name":"IN","shape":[1],"data":[1]}`, "unknown datatype"},
		"FP16 as JSON":              {"floats", `{"name":"IN","datatype":"FP16","shape":[1],"data":[1]}`, "no JSON form"},
		"256 as UINT8":              {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5,256]}`, `"256", which is not a UINT8`},
		"-1 as UINT8":               {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5,-1]}`, "not a UINT8"},
		"1.5 as UINT8":              {"grid", `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,2,3,4,5,1.5]}`, "1.5"},
		"beyond INT64":              {"integers", `{"name":"IN","datatype":"INT64","shape":[1],"data":[9223372036854775808]}`, "not an INT64"},
		"text as a number":          {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":["1"]}`, "a text where FP32 wants a number"},
		"1e400":                     {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[1e400]}`, "1e400"},
		"1e39 as FP32":              {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[1e39]}`, "FP32 cannot hold"},
		"NaN":                       {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[NaN]}`, "JSON, byte"},
		"BYTES as numbers":          {"texts", `{"name":"IN","datatype":"BYTES","shape":[2],"data":[1,2]}`, "wants a text"},
		"bad base64":                {"texts", `{"name":"IN","datatype":"BYTES","shape":[1],"data":["%"],"parameters":{"content_type":"base64"}}`, "base64"},
		"no shape":                  {"floats", `{"name":"IN","datatype":"FP32","data":[1]}`, `"shape" is missing`},
		"no data":                   {"floats", `{"name":"IN","datatype":"FP32","shape":[1]}`, `neither "data"`},
		"no name":                   {"floats", `{"datatype":"FP32","shape":[1],"data":[1]}`, `has no "name"`},
		"data twice":                {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[1],"data":[2]}`, "given twice"},
		"unknown input":             {"floats", `{"name":"X","datatype":"FP32","shape":[1],"data":[1]}`, `unknown input "X"`},
		"input twice":               {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[1]},{"name":"IN","datatype":"FP32","shape":[1],"data":[1]}`, "twice"},
		"not an object":             {"floats", `1`, "each of the inputs must be an object"},
		"parameter of an odd type":  {"floats", `{"name":"IN","datatype":"FP32","shape":[1],"data":[1],"parameters":{"a":[1]}}`, `parameter "a" must be`},
		"content_type not a text":   {"texts", `{"name":"IN","datatype":"BYTES","shape":[1],"data":["a"],"parameters":{"content_type":1}}`, "content_type"},
		"half a surrogate in BYTES": {"texts", `{"name":"IN","datatype":"BYTES","shape":[1],"data":["\ud800"]}`, "surrogate"},
	}
	for name, tc := range bad {
		t.Run(name, func(t *testing.T) {
			a := post(tc.model, tc.input)
			if f := a.Failure(); a.Status != http.StatusBadRequest || f.Code != "INVALID" || !strings.Contains(f.Error, tc.says) {
				t.Errorf("%d %s, want 400 with %q", a.Status, a.Body, tc.says)
			}
		})
	}
	t.Run("BOOL takes no numbers", func(t *testing.T) {
		a := post("floats", `{"name":"IN","datatype":"BOOL","shape":[2],"data":[0,1]}`)
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Failure().Error, "BOOL wants true or false") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		a := post("floats", `{"name":"IN","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}`)
		if a.Status != http.StatusNotImplemented {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func TestBody(t *testing.T) {
	s := fronttest.Start(t, server())
	const input = `{"name":"IN","datatype":"FP32","shape":[1],"data":[1]}`
	cases := map[string]struct{ body, says string }{
		"empty":              {``, "the document ends"},
		"not JSON":           {`hello`, "JSON, byte 0"},
		"double-encoded":     {`"{\"inputs\":[]}"`, "the body must be an object, not a text"},
		"inputs as a text":   {`{"inputs":"[]"}`, `"inputs" must be a list, not a text`},
		"no inputs":          {`{}`, `"inputs" is missing`},
		"null inputs":        {`{"inputs":null}`, `"inputs" is missing`},
		"empty inputs":       {`{"inputs":[]}`, `missing input "IN"`},
		"too many inputs":    {`{"inputs":[` + strings.Repeat(input+",", 1024) + input + `]}`, "more than 1024"},
		"id a number":        {`{"id":1,"inputs":[` + input + `]}`, `"id" must be a text`},
		"outputs not a list": {`{"inputs":[` + input + `],"outputs":{}}`, `"outputs" must be a list`},
		"nested without end": {`{"x":` + strings.Repeat("[", 1000), "100 levels"},
		"negative timeout":   {`{"parameters":{"timeout":-1},"inputs":[` + input + `]}`, "timeout"},
		"unknown output":     {`{"inputs":[` + input + `],"outputs":[{"name":"X"}]}`, `unknown output "X"`},
		"output twice":       {`{"inputs":[` + input + `],"outputs":[{"name":"OUT"},{"name":"OUT"}]}`, "twice"},
		"output unnamed":     {`{"inputs":[` + input + `],"outputs":[{}]}`, `no "name"`},
		"binary_data a text": {`{"inputs":[` + input + `],"outputs":[{"name":"OUT","parameters":{"binary_data":"yes"}}]}`, "binary_data"},
		"greatest number":    {`{"parameters":{"a":1e400},"inputs":[` + input + `]}`, "1e400"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Post("/v2/models/floats/infer", []byte(tc.body))
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want 400 with %q", a.Status, a.Body, tc.says)
			}
		})
	}
}

func TestMessageReachesTheServer(t *testing.T) {
	server := server()
	var got *inference.ModelInferRequest
	var left time.Duration
	server.OnInfer = func(ctx context.Context, req *inference.ModelInferRequest) {
		got = req
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
	}
	s := fronttest.Start(t, server)
	a := s.Post("/v2/models/floats/versions/1/infer", []byte(`{
		"id": "é1", "unknown": null,
		"parameters": {"priority": 18446744073709551615, "timeout": 5000000, "s": "x", "b": true, "i": -3, "d": 1.5, "n": null, "binary_data_output": false},
		"inputs": [{"name":"IN","datatype":"FP32","shape":[1],"data":[2],"parameters":{"own":1}}],
		"outputs": [{"name":"OUT","parameters":{"binary_data":false,"own":2}}]}`))
	want := &inference.ModelInferRequest{
		ModelName: "floats", ModelVersion: "1", Id: "é1",
		Parameters: oip.Parameters{
			"priority": {ParameterChoice: &inference.InferParameter_Uint64Param{Uint64Param: 18446744073709551615}},
			"timeout":  oip.Int64(5000000), "s": oip.String("x"), "b": oip.Bool(true), "i": oip.Int64(-3),
			"d": {ParameterChoice: &inference.InferParameter_DoubleParam{DoubleParam: 1.5}},
		},
		Inputs:           []*inference.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "FP32", Shape: []int64{1}, Parameters: oip.Parameters{"own": oip.Int64(1)}}},
		Outputs:          []*inference.ModelInferRequest_InferRequestedOutputTensor{{Name: "OUT", Parameters: oip.Parameters{"own": oip.Int64(2)}}},
		RawInputContents: [][]byte{floats(2)},
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if left > 5*time.Second || left < 3*time.Second {
		t.Errorf("%v are left of a timeout of 5 s", left)
	}
	doc, _ := read(t, a)
	if doc.ID == nil || *doc.ID != "é1" || doc.ModelName != "floats" || doc.ModelVersion != "1" {
		t.Errorf("%s", a.Body)
	}
	if doc.Parameters["triptych_queue_us"] != 1500.0 || !strings.HasPrefix(a.Header.Get("Server-Timing"), "queue;dur=1.500, compute;dur=0.250, total;dur=") {
		t.Errorf("%s, %v", a.Body, a.Header)
	}
	a = s.Post("/v2/models/floats/infer", []byte(`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1],"data":[2]}]}`))
	if doc, _ := read(t, a); doc.ID != nil {
		t.Errorf("an id that nobody sent: %s", a.Body)
	}
}

// TestBinary is OIP-01 and OIP-02: the binary tensor extension.
func TestBinary(t *testing.T) {
	s := fronttest.Start(t, server())
	header := func(size any, extra string) string {
		return fmt.Sprintf(`{"id":"ß日","inputs":[{"name":"IN","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":%v}%s}]}`, size, extra)
	}
	data := floats(1, 2)
	good := header(8, "")
	cases := map[string]struct {
		body, length string
		says         string // empty: good
	}{
		"right":                {good + string(data), strconv.Itoa(len(good)), ""},
		"absent":               {good + string(data), "", HeaderHint},
		"negative":             {good + string(data), "-1", "must be one whole number"},
		"not a number":         {good + string(data), "ten", "must be one whole number"},
		"beyond the body":      {good + string(data), "9999", "the body has"},
		"one too many":         {good + string(data), strconv.Itoa(len(good) + 1), HeaderHint},
		"one too few":          {good + string(data), strconv.Itoa(len(good) - 1), "JSON"},
		"characters":           {good + string(data), strconv.Itoa(len([]rune(good))), "JSON"},
		"size above the rest":  {header(9, "") + string(data), strconv.Itoa(len(header(9, ""))), `"binary_data_size" is 9, but 8 of 8 bytes`},
		"size below the rest":  {header(4, "") + string(data), strconv.Itoa(len(header(4, ""))), "4 of 8 bytes after the JSON part"},
		"negative size":        {header(-1, "") + string(data), strconv.Itoa(len(header(-1, ""))), "must not be negative"},
		"size as a text":       {header(`"8"`, "") + string(data), strconv.Itoa(len(header(`"8"`, ""))), "whole number"},
		"both sources":         {header(8, `,"data":[1,2]`) + string(data), strconv.Itoa(len(header(8, `,"data":[1,2]`))), `both "data" and`},
		"size against a shape": {header(4, "") + string(data[:4]), strconv.Itoa(len(header(4, ""))), `input "IN" has 4 bytes`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Content-Type", "application/octet-stream"}
			if tc.length != "" {
				headers = append(headers, rest.HeaderLength, tc.length)
			}
			a := s.Post("/v2/models/floats/infer", []byte(tc.body), headers...)
			if tc.says == "" {
				if doc, _ := read(t, a); a.Status != http.StatusOK || *doc.ID != "ß日" || string(doc.Outputs[0].Data) != "[1,2]" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				return
			}
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want 400 with %q", a.Status, a.Body, tc.says)
			}
		})
	}
	t.Run("header twice", func(t *testing.T) {
		if a := s.Post("/v2/models/floats/infer", []byte(good), rest.HeaderLength, "1", rest.HeaderLength, "2"); a.Status != http.StatusBadRequest {
			t.Errorf("%d", a.Status)
		}
	})
}

// HeaderHint is what a caller is told who may have forgotten the header.
const HeaderHint = "is the header Inference-Header-Content-Length right?"

func TestBytesElements(t *testing.T) {
	s := fronttest.Start(t, server())
	jpeg := "\xff\xd8\xff\xe0" + strings.Repeat("x", 60)
	prefix := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	cases := map[string]struct {
		shape, data string
		says        string
	}{
		"right":                    {"[2]", prefix(2) + "hi" + prefix(0), ""},
		"no length":                {"[1]", jpeg, "3774863615 bytes, but 60 are left"},
		"length big-endian":        {"[1]", "\x00\x00\x00\x02hi", "are left"},
		"greatest length":          {"[1]", prefix(0xFFFFFFFF) + "hi", "are left"},
		"last one short":           {"[2]", prefix(2) + "hi" + prefix(3) + "ab", "are left"},
		"shape of two, one there":  {"[2]", prefix(6) + "abcdef", "has no length"},
		"shape of one, two there":  {"[1]", prefix(1) + "a" + prefix(1) + "b", "after the last"},
		"half a length at the end": {"[2]", prefix(2) + "hi" + "\x00\x00", "no length"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			header := fmt.Sprintf(`{"inputs":[{"name":"IN","datatype":"BYTES","shape":%s,"parameters":{"binary_data_size":%d}}]}`, tc.shape, len(tc.data))
			a := s.Post("/v2/models/texts/infer", []byte(header+tc.data), rest.HeaderLength, strconv.Itoa(len(header)))
			if tc.says == "" {
				if doc, _ := read(t, a); string(doc.Outputs[0].Data) != `["hi",""]` {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				return
			}
			if a.Status != http.StatusBadRequest || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want 400 with %q", a.Status, a.Body, tc.says)
			}
		})
	}
}

func TestOutputForms(t *testing.T) {
	s := fronttest.Start(t, server())
	const in = `"inputs":[{"name":"IN","datatype":"UINT8","shape":[1],"data":[1]}]`
	ask := func(model, rest string) fronttest.Answer {
		return s.Post("/v2/models/"+model+"/infer", []byte("{"+in+rest+"}"))
	}
	a := ask("pair", `,"outputs":[{"name":"B","parameters":{"binary_data":true}},{"name":"A"}]`)
	doc, tail := read(t, a)
	if doc.Outputs[0].Name != "B" || doc.Outputs[0].Data != nil || doc.Outputs[0].Parameters["binary_data_size"] != 12.0 || string(doc.Outputs[1].Data) != "[1]" {
		t.Errorf("reversed, one binary: %s", a.Body)
	}
	if len(tail) != 12 || a.Header.Get("Content-Type") != "application/octet-stream" || !bytes.Equal(tail[:4], floats(0.25)) {
		t.Errorf("binary data: %x, %v", tail, a.Header)
	}
	a = ask("pair", `,"parameters":{"binary_data_output":true},"outputs":[]`)
	if doc, tail := read(t, a); len(doc.Outputs) != 2 || len(tail) != 16 {
		t.Errorf("all binary: %s", a.Body)
	}
	a = ask("pair", `,"outputs":[{"name":"B"},{"name":"A","parameters":{"binary_data":false}}],"parameters":{"binary_data_output":true}`)
	if doc, tail := read(t, a); doc.Outputs[1].Data == nil || len(tail) != 12 {
		t.Errorf("binary by default: %s", a.Body)
	}
	a = ask("octets", `,"outputs":[{"name":"OUT","parameters":{"content_type":"base64"}}]`)
	if doc, _ := read(t, a); string(doc.Outputs[0].Data) != `["/wA="]` || doc.Outputs[0].Parameters["content_type"] != "base64" {
		t.Errorf("base64: %s", a.Body)
	}
	failures := map[string]struct {
		model, rest string
		status      int
		says        string
	}{
		"non-finite":          {"strange", ``, http.StatusInternalServerError, "non-finite output"},
		"FP16 in JSON":        {"half", ``, http.StatusBadRequest, "no JSON form"},
		"not UTF-8 in JSON":   {"octets", ``, http.StatusBadRequest, "not UTF-8"},
		"a lying model":       {"lying", ``, http.StatusInternalServerError, "the model gave 8 bytes"},
		"classes of 0":        {"pair", `,"outputs":[{"name":"B","parameters":{"classification":0}}]`, http.StatusBadRequest, "must be 1 or more"},
		"classes as a text":   {"pair", `,"outputs":[{"name":"B","parameters":{"classification":"5"}}]`, http.StatusBadRequest, "whole number"},
		"classes of FP16":     {"half", `,"outputs":[{"name":"OUT","parameters":{"classification":1}}]`, http.StatusBadRequest, "cannot be sorted"},
		"output in a region":  {"pair", `,"outputs":[{"name":"B","parameters":{"shared_memory_region":"r"}}]`, http.StatusNotImplemented, "shared memory"},
		"an output not given": {"pair", `,"outputs":[{"name":"C"}]`, http.StatusBadRequest, `unknown output "C"`},
	}
	for name, tc := range failures {
		t.Run(name, func(t *testing.T) {
			a := ask(tc.model, tc.rest)
			if a.Status != tc.status || !strings.Contains(a.Failure().Error, tc.says) {
				t.Errorf("%d %s, want %d with %q", a.Status, a.Body, tc.status, tc.says)
			}
		})
	}
	t.Run("non-finite as binary", func(t *testing.T) {
		a := ask("strange", `,"parameters":{"binary_data_output":true}`)
		if _, tail := read(t, a); a.Status != http.StatusOK || len(tail) != 16 || a.Header.Get("Content-Length") != strconv.Itoa(len(a.Body)) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func TestClassification(t *testing.T) {
	server := server()
	s := fronttest.Start(t, server)
	ask := func(model, in, outputs string) string {
		a := s.Post("/v2/models/"+model+"/infer", []byte(`{"inputs":[`+in+`],"outputs":[`+outputs+`]}`))
		if a.Status != http.StatusOK {
			return a.Failure().Code
		}
		doc, _ := read(t, a)
		return fmt.Sprint(doc.Outputs[0].Datatype, doc.Outputs[0].Shape, string(doc.Outputs[0].Data))
	}
	const one = `{"name":"IN","datatype":"UINT8","shape":[1],"data":[1]}`
	if got := ask("pair", one, `{"name":"B","parameters":{"classification":2}}`); got != `BYTES[2]["0.500000:2","0.250000:0"]` {
		t.Error(got)
	}
	if got := ask("pair", one, `{"name":"B","parameters":{"classification":2000}}`); got != `BYTES[3]["0.500000:2","0.250000:0","NaN:1"]` {
		t.Error(got)
	}
	rows := server.Models[5]
	rows.Config.MaxBatchSize, rows.Config.Input[0].Dims, rows.Config.Output[0].Dims = 4, []int64{3}, []int64{3}
	const two = `{"name":"IN","datatype":"UINT8","shape":[2,3],"data":[1,5,5,9,0,2]}`
	if got := ask("rows", two, `{"name":"OUT","parameters":{"classification":2}}`); got != `BYTES[2 2]["5:1","5:2","9:0","2:2"]` {
		t.Error(got)
	}
	rows.Config.Output[0].LabelFilename = "labels.txt"
	if got := ask("rows", two, `{"name":"OUT","parameters":{"classification":2}}`); got != "UNSUPPORTED" {
		t.Error(got)
	}
}

func TestRawBody(t *testing.T) {
	s := fronttest.Start(t, server())
	cases := map[string]struct {
		model, body string
		shape       []int64
		says        string
	}{
		"BYTES":           {"image", "\xff\xd8 any bytes", []int64{1}, ""},
		"free BYTES":      {"texts", "x", []int64{1}, ""},
		"free dimension":  {"floats", string(floats(1, 2, 3)), []int64{3}, ""},
		"free rows":       {"rows", "abcdef", []int64{2, 3}, ""},
		"fixed":           {"grid", "abcdef", []int64{2, 3}, ""},
		"with a batch":    {"big", strings.Repeat("x", 150528), []int64{1, 224, 224, 3}, ""},
		"does not fill":   {"floats", "abc", nil, "does not fill"},
		"wrong size":      {"grid", "abc", nil, `input "IN" has 3 bytes`},
		"an unknown name": {"nothing", "abc", nil, "unknown model"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Post("/v2/models/"+tc.model+"/infer", []byte(tc.body), rest.HeaderLength, "0")
			if tc.says != "" {
				if a.Status >= 500 || a.Status < 400 || !strings.Contains(a.Failure().Error, tc.says) {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				return
			}
			doc, tail := read(t, a)
			if a.Status != http.StatusOK || cmp.Diff(tc.shape, doc.Outputs[0].Shape) != "" || !bytes.HasSuffix(tail, []byte(tc.body)) {
				t.Errorf("%d %.200s", a.Status, a.Body)
			}
		})
	}
}

// TestNames is OIP-06: models, versions and paths.
func TestNames(t *testing.T) {
	s := fronttest.Start(t, server())
	cases := map[string]struct {
		method, path string
		status       int
	}{
		"unknown model":         {http.MethodPost, "/v2/models/nothing/infer", 404},
		"unknown version":       {http.MethodPost, "/v2/models/floats/versions/9/infer", 404},
		"version 01":            {http.MethodPost, "/v2/models/floats/versions/01/infer", 400},
		"version Abc":           {http.MethodGet, "/v2/models/floats/versions/Abc", 400},
		"unknown label":         {http.MethodGet, "/v2/models/floats/versions/abc", 404},
		"version 0":             {http.MethodGet, "/v2/models/floats/versions/0/ready", 400},
		"version -1":            {http.MethodGet, "/v2/models/floats/versions/-1/config", 400},
		"version beyond int64":  {http.MethodGet, "/v2/models/floats/versions/99999999999999999999", 400},
		"empty version":         {http.MethodGet, "/v2/models/floats/versions//config", 400},
		"loading":               {http.MethodPost, "/v2/models/loading/infer", 503},
		"loading, ready":        {http.MethodGet, "/v2/models/loading/ready", 503},
		"empty model":           {http.MethodPost, "/v2/models//infer", 404},
		"trailing slash":        {http.MethodPost, "/v2/models/floats/infer/", 404},
		"trailing slash, model": {http.MethodGet, "/v2/models/floats/", 404},
		"slash in a name":       {http.MethodPost, "/v2/models/a/b/infer", 404},
		"%2f in a name":         {http.MethodPost, "/v2/models/a%2fb/infer", 404},
		"dots":                  {http.MethodPost, "/v2/models/../infer", 404},
		"escaped dots":          {http.MethodPost, "/v2/models/%2e%2e/infer", 404},
		"dots and slashes":      {http.MethodPost, "/v2/models/..%2f..%2fetc/infer", 404},
		"blank":                 {http.MethodPost, "/v2/models/a%20b/infer", 404},
		"NUL":                   {http.MethodPost, "/v2/models/a%00b/infer", 404},
		"long":                  {http.MethodPost, "/v2/models/" + long + "/infer", 404},
		"doubled prefix":        {http.MethodPost, "/v2/v2/models/floats/infer", 404},
		"wrong method":          {http.MethodGet, "/v2/models/floats/infer", 405},
		"wrong method, index":   {http.MethodGet, "/v2/repository/index", 405},
		"odd method":            {"XQ17", "/v2/models/floats/infer", 405},
		"a model named stats":   {http.MethodPost, "/v2/models/stats/infer", 404},
		"root":                  {http.MethodGet, "/", 404},
	}
	const body = `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1],"data":[1]}]}`
	codes := map[int]string{400: "INVALID", 404: "NOT_FOUND", 405: "WRONG_METHOD", 503: "UNAVAILABLE"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.Do(tc.method, tc.path, strings.NewReader(body))
			f := a.Failure()
			if a.Status != tc.status {
				t.Errorf("%d %s, want %d", a.Status, a.Body, tc.status)
			}
			if !strings.HasSuffix(tc.path, "/ready") && (f.Code != codes[tc.status] || f.Error == "" || f.RequestID != a.Header.Get("X-Request-Id")) {
				t.Errorf("%s", a.Body)
			}
			if (tc.status == 503) != (a.Header.Get("Retry-After") != "") || len(a.Body) > 500 {
				t.Errorf("%v %s", a.Header, a.Body)
			}
		})
	}
}
