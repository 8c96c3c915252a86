package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"triptych/cli/client"
	"triptych/shared/failure"
)

// resultFile takes results as they come, a document a line.
type resultFile struct {
	name   string
	w      *bufio.Writer
	close  func() error
	cursor string // of the last line that is there already
	ended  bool   // the last line says that the job has ended
}

// openResults begins a file, or goes on with it. A dash is standard output.
func openResults(stdout io.Writer, name string, resume bool) (*resultFile, error) {
	if name == "-" {
		return &resultFile{name: "standard output", w: bufio.NewWriter(stdout), close: func() error { return nil }}, nil
	}
	flags := os.O_RDWR | os.O_CREATE | os.O_TRUNC
	if resume {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(name, flags, 0o644) //nolint:gosec // results for everybody
	if err != nil {
		return nil, noResults(err, name)
	}
	r := &resultFile{name: name, w: bufio.NewWriter(f), close: f.Close}
	if err := r.skip(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// filled tells whether there is a file with something in it.
func filled(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// skip goes to the end of the last whole line, and remembers its cursor. What comes
// after it is half a line of a run that was killed, and is cut off.
func (r *resultFile) skip(f *os.File) error {
	var whole int64
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return noResults(err, r.name)
		}
		var known struct{ Cursor, End string }
		if err := json.Unmarshal(bytes.TrimSpace(line), &known); err != nil || known.Cursor == "" {
			return failure.New(failure.Invalid, "%s is not a file of results", r.name)
		}
		r.cursor, r.ended = known.Cursor, known.End != ""
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return noResults(err, r.name)
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return noResults(err, r.name)
	}
	return nil
}

// write takes one line. It is in the file when no other follows at once.
func (r *resultFile) write(result client.Result) error {
	_, err := r.w.Write(append(result.Raw, '\n'))
	if err == nil && !result.Waiting {
		err = r.w.Flush()
	}
	if err != nil {
		return noResults(err, r.name)
	}
	return nil
}

// Close implements io.Closer.
func (r *resultFile) Close() error {
	err := errors.Join(r.w.Flush(), r.close())
	if err != nil {
		return noResults(err, r.name)
	}
	return nil
}
