package rest

import "triptych/proto/inference"

// Parse is parse, for the fuzz tests, which can't go over HTTP.
func Parse(header, binary []byte) (*inference.ModelInferRequest, error) {
	r, err := parse(header, binary)
	if err != nil {
		return nil, err
	}
	return r.message, nil
}

// ReadElements is readElements on data alone.
var ReadElements = readElements

// AppendData is appendData.
var AppendData = appendData
