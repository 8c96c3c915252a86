package rest

import (
	"net/http"
	"strconv"

	"triptych/shared/failure"
)

// HeaderLength is the header of the binary tensor extension: how many bytes of
// the body are its JSON part. 0 in a request means that the whole body is the
// data of the model's one input.
const HeaderLength = "Inference-Header-Content-Length"

// headerLength reads the header; -1 when it is absent.
func headerLength(h http.Header) (int64, error) {
	values := h.Values(HeaderLength)
	if len(values) == 0 {
		return -1, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 || len(values) > 1 {
		return 0, failure.New(failure.Invalid, "the header %s is %s, must be one whole number, 0 or more", HeaderLength, failure.Quote(values[0]))
	}
	return n, nil
}

// divide cuts a body at the length of its JSON part.
func divide(body []byte, header int64) (text, binary []byte, err error) {
	if header < 0 {
		return body, nil, nil
	}
	if header > int64(len(body)) {
		return nil, nil, failure.New(failure.Invalid, "the header %s is %d, but the body has %d bytes", HeaderLength, header, len(body))
	}
	return body[:header], body[header:], nil
}

// split gives each input its data, in order: what was read from JSON, or its
// slice of the binary data, of which nothing may be left over.
func split(sources []tensorSource, binary []byte) ([][]byte, error) {
	contents := make([][]byte, 0, len(sources))
	total := len(binary)
	for _, s := range sources {
		if s.binary < 0 {
			contents = append(contents, s.data)
			continue
		}
		if s.binary > int64(len(binary)) {
			return nil, failure.New(failure.Invalid, "input %s: parameter %q is %d, but %d of %d bytes are left after the JSON part", failure.Quote(s.name), binarySize, s.binary, len(binary), total)
		}
		contents = append(contents, binary[:s.binary:s.binary])
		binary = binary[s.binary:]
	}
	if len(binary) > 0 {
		return nil, failure.New(failure.Invalid, "%d of %d bytes after the JSON part belong to no input: the %q of all inputs make less", len(binary), total, binarySize)
	}
	return contents, nil
}
