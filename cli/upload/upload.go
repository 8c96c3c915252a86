// Package upload makes the bodies of new jobs: of files and folders, archives, a tar
// on standard input, and keys of the object store. A body is made while it is sent,
// and can be made again; no more of it than a buffer is ever in memory, beside the
// names of one folder.
package upload

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"triptych/shared/failure"
)

// Body is the body of one job.
type Body struct {
	ContentType string
	// Size is how many bytes are sent; -1 is not known.
	Size int64
	// Items is how many images there are; 0 is not known.
	Items int64

	open  func(*Body) (io.ReadCloser, error)
	close func() error

	items, bytes atomic.Int64
	began        atomic.Pointer[time.Time]
}

// Open begins the body, from its start. Whoever opens it closes what they get before
// it is opened again.
func (b *Body) Open() (io.ReadCloser, error) {
	b.items.Store(0)
	b.bytes.Store(0)
	now := time.Now()
	b.began.Store(&now)
	r, err := b.open(b)
	if err != nil {
		return nil, err
	}
	return counted{r, &b.bytes}, nil
}

// Sent is how many items and bytes have been read since the last Open, and how long
// ago that is. Items are not counted in archives.
func (b *Body) Sent() (items, bytes int64, took time.Duration) {
	if began := b.began.Load(); began != nil {
		took = time.Since(*began)
	}
	return b.items.Load(), b.bytes.Load(), took
}

// Close gives back what the body has taken.
func (b *Body) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// counted counts what is read.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// made is a body that a function writes while it is read.
type made struct {
	*io.PipeReader
	ended chan struct{}
}

// buffer is how much of a body is made ahead.
const buffer = 64 << 10

func makeBody(write func(io.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	m := made{r, make(chan struct{})}
	go func() {
		defer close(m.ended)
		buffered := bufio.NewWriterSize(w, buffer)
		err := write(buffered)
		if err == nil {
			err = buffered.Flush()
		}
		w.CloseWithError(err)
	}()
	return m
}

// Close implements io.Closer: it ends the writer, and waits for that.
func (m made) Close() error {
	err := m.PipeReader.Close()
	<-m.ended
	return err
}

// unreadable is the failure of a file.
func unreadable(name string, err error) error {
	var own *failure.Error
	if errors.As(err, &own) {
		return own
	}
	reason := err
	var path *fs.PathError
	if errors.As(err, &path) {
		reason = path.Err
	}
	return failure.Wrap(err, failure.Invalid, "%s can't be read: %s", name, reason)
}
