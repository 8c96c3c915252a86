package classification

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"triptych/shared/failure"
)

// maxLabelsBytes bounds a labels file. A million labels of ordinary length fit.
const maxLabelsBytes = 32 << 20

var byteOrderMark = []byte("\xef\xbb\xbf")

// ReadLabels reads a file of labels that lies in a model's directory. A name
// that leads out of the directory is refused: configurations also come over the
// network.
func ReadLabels(directory, name string) ([]string, error) {
	if !filepath.IsLocal(name) {
		return nil, failure.New(failure.Invalid, "label_filename %q must be a path inside the model's directory", name)
	}
	path := filepath.Join(directory, name)
	// Asked before it is opened, for to open a pipe waits for its writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, failure.New(failure.Invalid, "label_filename %q is not a regular file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "label_filename %q can't be opened", name)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxLabelsBytes+1))
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "label_filename %q can't be read", name)
	}
	if len(data) > maxLabelsBytes {
		return nil, failure.New(failure.Invalid, "label_filename %q has more than %d bytes", name, maxLabelsBytes)
	}
	labels, err := ParseLabels(data)
	if err != nil {
		return nil, failure.Prefix("label_filename "+name, err)
	}
	return labels, nil
}

// ParseLabels splits a file into labels: line n is the label of class n, from
// 0. A byte order mark, a CR before the end of a line and blank lines at the end
// of the file are not part of any label. Everything else is, so that labels may
// hold commas, colons and blanks. Text that is not UTF-8 is Invalid: JSON could
// not carry it.
func ParseLabels(data []byte) ([]string, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	lines := bytes.Split(data, []byte("\n"))
	labels := make([]string, 0, len(lines))
	filled := 0
	for i, line := range lines {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return nil, failure.New(failure.Invalid, "line %d is not UTF-8 text", i+1)
		}
		labels = append(labels, string(line))
		if len(bytes.TrimSpace(line)) > 0 {
			filled = len(labels)
		}
	}
	return labels[:filled:filled], nil
}
