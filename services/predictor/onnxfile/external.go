package onnxfile

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"triptych/shared/failure"
)

// bits are the sizes of an element, by TensorProto.DataType.
var bits = map[uint64]int64{
	1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16,
	17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2,
}

// stored is a TensorProto whose data may be elsewhere.
type stored struct {
	name     string
	kind     uint64
	elements int64
	external bool
	data     map[string]string
}

// tensor reads a TensorProto.
func (s *scan) tensor(f field) error {
	t := stored{elements: 1}
	err := s.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			err = s.dims(f, &t)
		case 2:
			t.kind = f.value
		case 8:
			t.name, err = s.text(f, maxText)
		case 13:
			err = s.entry(f, &t)
		case 14:
			t.external = f.value == 1
		}
		return err
	})
	if err != nil || !t.external {
		return err
	}
	return s.refer(t)
}

// dims multiplies the dimensions, which may be packed into one field.
func (s *scan) dims(f field, t *stored) error {
	if f.kind == protowire.VarintType {
		t.elements = times(t.elements, int64(f.value))
		return nil
	}
	end := s.at + int64(f.value)
	for s.at < end {
		d, err := s.varint(end)
		if err != nil {
			return err
		}
		t.elements = times(t.elements, int64(d))
	}
	return nil
}

// times multiplies what a file declares: never below 0, and no overflow.
func times(a, b int64) int64 {
	switch {
	case b <= 0:
		return 0
	case a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}

// entry reads a StringStringEntryProto of external_data.
func (s *scan) entry(f field, t *stored) error {
	var key, value string
	err := s.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			key, err = s.text(f, maxText)
		case 2:
			value, err = s.text(f, maxPath+1)
		}
		return err
	})
	switch key {
	case "location", "offset", "length": // others, such as checksums, are not read by the runtime either
		if t.data == nil {
			t.data = map[string]string{}
		}
		t.data[key] = value
	}
	return err
}

// refer notes which part of which file a tensor needs.
func (s *scan) refer(t stored) error {
	location := t.data["location"]
	if location == "" || len(location) > maxPath {
		return failure.New(failure.Invalid, "the weights of %s are in another file, but its location has %d bytes", failure.Quote(t.name), len(location))
	}
	part := External{Tensor: t.name}
	var err error
	if part.Offset, err = number(t, "offset", 0); err != nil {
		return err
	}
	size := times(t.elements, bits[t.kind])
	if part.Length, err = number(t, "length", size/8+min(size%8, 1)); err != nil {
		return err
	}
	if part.Length > math.MaxInt64-part.Offset {
		return failure.New(failure.Invalid, "the weights of %s are %d bytes at %d of another file, which is too much", failure.Quote(t.name), part.Length, part.Offset)
	}
	old, ok := s.External[location]
	if !ok && len(s.External) >= maxNames {
		return tooMany("files of weights")
	}
	if !ok || part.end() > old.end() {
		s.External[location] = part
	}
	return nil
}

func number(t stored, key string, absent int64) (int64, error) {
	text, ok := t.data[key]
	if !ok {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, failure.New(failure.Invalid, "the weights of %s are in another file, but the %s %s is no number of bytes", failure.Quote(t.name), key, failure.Quote(text))
	}
	return n, nil
}

// end is the size that the file must have at least.
func (e External) end() int64 { return e.Offset + e.Length }

// complete wants every file of weights inside of the folder and long enough.
func (h *Header) complete(folder string) error {
	locations := make([]string, 0, len(h.External))
	for location := range h.External {
		locations = append(locations, location)
	}
	slices.Sort(locations)
	for _, location := range locations {
		if err := h.External[location].there(folder, location); err != nil {
			return err
		}
	}
	return nil
}

func (e External) there(folder, location string) error {
	what := "its weights " + failure.Quote(location)
	leaves := failure.New(failure.Invalid, "%s leave the folder of the model file", what)
	// A link before a ".." leads elsewhere than the text says.
	if !filepath.IsLocal(location) || slices.Contains(strings.Split(location, "/"), "..") {
		return leaves
	}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return failure.Wrap(err, failure.Invalid, "its folder can't be read")
	}
	path, err := filepath.EvalSymlinks(filepath.Join(root, location))
	if errors.Is(err, fs.ErrNotExist) {
		return failure.Wrap(err, failure.Invalid, "%s are not there", what)
	}
	if err != nil {
		return failure.Wrap(err, failure.Invalid, "%s can't be read", what)
	}
	if inside, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(inside) {
		return leaves
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return failure.Wrap(err, failure.Invalid, "%s can't be read", what)
	case !info.Mode().IsRegular():
		return failure.New(failure.Invalid, "%s are not a regular file", what)
	case info.Size() < e.end():
		return failure.New(failure.Invalid, "%s end in the middle: they have %d bytes, but %s is %d bytes at %d", what, info.Size(), failure.Quote(e.Tensor), e.Length, e.Offset)
	}
	return nil
}
