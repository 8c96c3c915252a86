package upload

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"triptych/shared/failure"
)

// Input is an archive that comes from a reader: a tar, or what its first bytes say.
// It is kept in a temporary file as it is read, so that it can be sent again.
func Input(in io.Reader) (*Body, error) {
	buffered := bufio.NewReaderSize(in, buffer)
	head, err := buffered.Peek(4)
	if len(head) == 0 {
		if !errors.Is(err, io.EOF) {
			return nil, unreadable("standard input", err)
		}
		return nil, failure.New(failure.Invalid, "nothing came on standard input, where a tar, tar.gz or zip should")
	}
	s, err := newSpool(buffered)
	if err != nil {
		return nil, err
	}
	open := func(*Body) (io.ReadCloser, error) { return s.replay(), nil }
	return &Body{ContentType: sniff(head), Size: -1, open: open, close: s.file.Close}, nil
}

func sniff(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipType
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipType
	default:
		return tarType
	}
}

// spool is input that can be read from its start as often as is wanted, while it
// still comes. Safe for concurrent use: a connection that was given up may read on
// for a moment beside the next.
type spool struct {
	in   io.Reader
	file *os.File

	mu    sync.Mutex // for in
	size  atomic.Int64
	ended error // what in said at its end
}

func newSpool(in io.Reader) (*spool, error) {
	file, err := os.CreateTemp("", "triptych-")
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "there is no room for a temporary file")
	}
	// The file has no name from now on, and so none to be left behind.
	_ = os.Remove(file.Name())
	return &spool{in: in, file: file}, nil
}

func (s *spool) replay() io.ReadCloser { return &replay{spool: s} }

// more reads on where the file ends.
func (s *spool) more(p []byte, at int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < s.size.Load() {
		return 0, nil // somebody else was faster: it is in the file
	}
	if s.ended != nil {
		return 0, s.ended
	}
	n, err := s.in.Read(p)
	if _, werr := s.file.WriteAt(p[:n], at); werr != nil {
		return 0, failure.Wrap(werr, failure.Invalid, "standard input can't be kept in a temporary file")
	}
	s.size.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable("standard input", err)
	}
	s.ended = err
	return n, err
}

// replay reads a spool from its start.
type replay struct {
	spool *spool
	at    int64
}

// Read implements io.Reader.
func (r *replay) Read(p []byte) (n int, err error) {
	if kept := r.spool.size.Load() - r.at; kept > 0 {
		n, err = r.spool.file.ReadAt(p[:min(int64(len(p)), kept)], r.at)
		if n > 0 {
			err = nil
		}
	} else {
		n, err = r.spool.more(p, r.at)
	}
	r.at += int64(n)
	return n, err
}

// Close implements io.Closer. The spool is its owner's.
func (r *replay) Close() error { return nil }
