package onnxfile

import (
	"bufio"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protowire"

	"triptych/shared/failure"
)

const (
	// maxDepth bounds messages within messages. It is protobuf's own bound.
	maxDepth = 100
	// pageSize is what is read at once; a longer part that nobody asks for is
	// stepped over.
	pageSize = 64 << 10
)

// field is one field of a message: a number, or a part of value bytes that
// follows.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
}

// reader walks through a file in protobuf's wire format. It holds one page of
// it, whatever the file says of itself.
type reader struct {
	file  *os.File
	page  *bufio.Reader
	at    int64 // where page begins to be unread
	size  int64
	depth int
}

func newReader(file *os.File, size int64) *reader {
	return &reader{file: file, page: bufio.NewReaderSize(file, pageSize), size: size}
}

// message visits the fields of the part that f is. What visit does not read is
// stepped over.
func (r *reader) message(f field, visit func(field) error) error {
	if f.kind != protowire.BytesType {
		return r.damaged()
	}
	if r.depth++; r.depth > maxDepth {
		return failure.New(failure.Invalid, "it has more than %d messages within each other", maxDepth)
	}
	defer func() { r.depth-- }()
	return r.fields(r.at+int64(f.value), visit)
}

func (r *reader) fields(end int64, visit func(field) error) error {
	for r.at < end {
		f, err := r.next(end)
		if err != nil {
			return err
		}
		after := r.at
		if f.kind == protowire.BytesType {
			after += int64(f.value) // next has held it against the end
		}
		if err := visit(f); err != nil {
			return err
		}
		if err := r.skipTo(after); err != nil {
			return err
		}
	}
	return nil
}

// next reads the tag of a field and its number or its length.
func (r *reader) next(end int64) (field, error) {
	tag, err := r.varint(end)
	if err != nil {
		return field{}, err
	}
	var f field
	f.number, f.kind = protowire.DecodeTag(tag)
	if f.number < protowire.MinValidNumber {
		return f, r.damaged()
	}
	switch f.kind {
	case protowire.VarintType:
		f.value, err = r.varint(end)
		return f, err
	case protowire.BytesType:
		if f.value, err = r.varint(end); err != nil {
			return f, err
		}
		return f, r.room(f.value, end)
	case protowire.Fixed32Type:
		return f, r.step(4, end)
	case protowire.Fixed64Type:
		return f, r.step(8, end)
	default:
		return f, r.damaged()
	}
}

// room wants n more bytes before end. Where the file itself is too short, its
// rest is missing; where only the message is, it is no model.
func (r *reader) room(n uint64, end int64) error {
	switch {
	case n <= uint64(end-r.at):
		return nil
	case n > uint64(r.size-r.at):
		return r.torn()
	default:
		return r.damaged()
	}
}

func (r *reader) step(n, end int64) error {
	if err := r.room(uint64(n), end); err != nil {
		return err
	}
	return r.skipTo(r.at + n)
}

func (r *reader) varint(end int64) (uint64, error) {
	head, err := r.page.Peek(int(min(10, r.size-r.at)))
	if err != nil {
		return 0, r.unread(err)
	}
	v, n := protowire.ConsumeVarint(head)
	switch {
	case n < 0 && len(head) < 10:
		return 0, r.torn()
	case n < 0 || r.at+int64(n) > end:
		return 0, r.damaged()
	}
	return v, r.skipTo(r.at + int64(n))
}

// text reads the part that f is, or its first most bytes.
func (r *reader) text(f field, most uint64) (string, error) {
	if f.kind != protowire.BytesType {
		return "", r.damaged()
	}
	text := make([]byte, min(f.value, most))
	n, err := io.ReadFull(r.page, text)
	r.at += int64(n)
	if err != nil {
		return "", r.unread(err)
	}
	return string(text), nil
}

func (r *reader) skipTo(at int64) error {
	n := at - r.at
	r.at = at
	if n <= int64(r.page.Buffered()) {
		_, err := r.page.Discard(int(n))
		return err
	}
	if _, err := r.file.Seek(at, io.SeekStart); err != nil {
		return r.unread(err)
	}
	r.page.Reset(r.file)
	return nil
}

func (r *reader) torn() error {
	return failure.New(failure.Invalid, "the file ends in the middle: it has %d bytes, but what begins at byte %d goes on", r.size, r.at)
}

func (r *reader) damaged() error {
	return failure.New(failure.Invalid, "it is no ONNX model, or damaged at byte %d of %d", r.at, r.size)
}

func (r *reader) unread(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // io's own, unwrapped; the file was cut while it was read
		return r.torn()
	}
	return failure.Wrap(err, failure.Invalid, "it can't be read")
}
