package web

import (
	"io"
	"net/http"

	"triptych/shared/failure"
)

// firstRead is the room for a body whose length nobody said.
const firstRead = 32 << 10

// ReadBody reads the whole body into memory of its own, which the front has
// bounded and reserved. The body's failures have their Kind already.
func ReadBody(r *http.Request) ([]byte, error) {
	return ReadAll(r.Body, 0, r.ContentLength)
}

// ReadAll reads r to its end, into memory that begins with so many bytes left
// free. The size is what is expected, or less than 0.
func ReadAll(r io.Reader, free int, size int64) ([]byte, error) {
	if size < 0 {
		size = firstRead
	}
	// One byte more than expected, so that the end is seen without growing.
	data := make([]byte, free, int64(free)+size+1)
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
			data = append(data, 0)[:len(data)]
		}
	}
}

// Failure gives the error of a call to the server its Kind.
func Failure(err error) error {
	return failure.FromStatus(err, "the server")
}
