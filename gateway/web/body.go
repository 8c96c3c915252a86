package web

import (
	"io"
	"math"
	"net/http"

	"triptych/shared/failure"
)

// Memory for a body is taken as it comes, so that one whose length is only said
// takes little: first so much, then this many times what there is while it is
// small, and twice that later, which is as fast as room is taken for it.
const (
	firstRead  = 64 << 10
	smallRead  = 1 << 20
	smallSteps = 4
)

// ReadBody reads the whole body into memory of its own, which the front has
// bounded and reserved. The body's failures have their Kind already.
func ReadBody(r *http.Request) ([]byte, error) {
	return ReadAll(r.Body, 0, r.ContentLength)
}

// ReadAll reads r to its end, into memory that begins with so many bytes left
// free. The size is what is expected, or less than 0.
func ReadAll(r io.Reader, free int, size int64) ([]byte, error) {
	// One byte more than expected, so that the end is seen without growing.
	expected := math.MaxInt
	if size >= 0 {
		expected = free + int(size) + 1
	}
	data := make([]byte, free, min(expected, free+firstRead))
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = grown(data, expected)
		}
	}
}

// grown is data with room for more, no more than is expected.
func grown(data []byte, expected int) []byte {
	size := 2 * len(data)
	if len(data) < smallRead {
		size = smallSteps * len(data)
	}
	if len(data) < expected {
		size = min(size, expected)
	}
	more := make([]byte, len(data), size)
	copy(more, data)
	return more
}

// Failure gives the error of a call to the server its Kind.
func Failure(err error) error {
	return failure.FromStatus(err, "the server")
}
