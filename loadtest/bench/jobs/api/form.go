package api

import (
	"fmt"
	"io"
)

const (
	boundary = "bench-jobs"
	ending   = "--" + boundary + "--\r\n"
	// partFormat has the same length for each file.
	partFormat = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"%07d.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\n"
)

// Form is a multipart body with so many files, which are made while it is read:
// the contents in turn. It is read once.
type Form struct {
	contents [][]byte
	count    int
	next     int
	pieces   [][]byte
}

// NewForm makes one.
func NewForm(contents [][]byte, count int) *Form { return &Form{contents: contents, count: count} }

// ContentType is what the body is announced with.
func (f *Form) ContentType() string { return "multipart/form-data; boundary=" + boundary }

// Size is the length of the whole body.
func (f *Form) Size() int64 {
	size := int64(len(ending))
	for i := range f.count {
		size += int64(len(f.contents[i%len(f.contents)]))
	}
	return size + int64(f.count)*int64(len(fmt.Sprintf(partFormat, 0))+len("\r\n"))
}

// Read implements io.Reader.
func (f *Form) Read(p []byte) (int, error) {
	for len(f.pieces) == 0 {
		switch {
		case f.next < f.count:
			f.pieces = [][]byte{fmt.Appendf(nil, partFormat, f.next), f.contents[f.next%len(f.contents)], []byte("\r\n")}
		case f.next == f.count:
			f.pieces = [][]byte{[]byte(ending)}
		default:
			return 0, io.EOF
		}
		f.next++
	}
	n := copy(p, f.pieces[0])
	if f.pieces[0] = f.pieces[0][n:]; len(f.pieces[0]) == 0 {
		f.pieces = f.pieces[1:]
	}
	return n, nil
}
