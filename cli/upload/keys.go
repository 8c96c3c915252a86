package upload

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"

	"triptych/shared/failure"
)

// mostKey bounds a key.
const mostKey = 64 << 10

// Keys is a list of keys of the object store.
func Keys(keys []string) (*Body, error) {
	text := strings.Join(keys, "\n")
	b := &Body{ContentType: "application/json", Size: -1, Items: int64(len(keys))}
	b.open = func(b *Body) (io.ReadCloser, error) {
		return makeBody(func(w io.Writer) error { return b.writeKeys(w, strings.NewReader(text)) }), nil
	}
	return b, nil
}

// KeyInput is keys that come from a reader, one a line.
func KeyInput(in io.Reader) (*Body, error) {
	s, err := newSpool(in)
	if err != nil {
		return nil, err
	}
	b := &Body{ContentType: "application/json", Size: -1, close: s.file.Close}
	b.open = func(b *Body) (io.ReadCloser, error) {
		return makeBody(func(w io.Writer) error { return b.writeKeys(w, s.replay()) }), nil
	}
	return b, nil
}

// writeKeys writes the document as the lines come. Blank ones are none.
func (b *Body) writeKeys(w io.Writer, in io.Reader) error {
	comma := `{"items":[`
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostKey)
	for lines.Scan() {
		key := strings.TrimSpace(lines.Text())
		if key == "" {
			continue
		}
		text, err := json.Marshal(map[string]string{"key": key})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, comma+string(text)); err != nil {
			return err
		}
		comma = ","
		b.items.Add(1)
	}
	if err := lines.Err(); err != nil {
		return unreadable("the list of keys", err)
	}
	if comma != "," {
		return failure.New(failure.Invalid, "there are no keys on standard input")
	}
	_, err := io.WriteString(w, "]}")
	return err
}
