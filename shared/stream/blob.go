package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/jobs"
	"triptych/shared/failure"
)

// maxBlob is the most that is read into memory: a size above it is no image's.
const maxBlob = 1 << 30

// PutBlob keeps bytes in a bucket, under a key that nobody else uses. When it fails
// nothing is there that counts, and what was sent is deleted.
func (c *Connection) PutBlob(ctx context.Context, bucket, key string, data []byte) (*jobs.Blob, error) {
	chunk := c.chunk()
	return c.put(ctx, bucket, key, func() ([]byte, error) {
		n := min(len(data), chunk)
		piece := data[:n]
		if data = data[n:]; n == 0 {
			return nil, io.EOF
		}
		return piece, nil
	})
}

// PutBlobFrom is PutBlob of what a reader gives. The reader's own error is returned
// as it is.
func (c *Connection) PutBlobFrom(ctx context.Context, bucket, key string, r io.Reader) (*jobs.Blob, error) {
	chunk := c.chunk()
	return c.put(ctx, bucket, key, func() ([]byte, error) {
		piece := make([]byte, chunk) // it is sent again when nobody answers: never reused
		n, err := io.ReadFull(r, piece)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return piece[:n], err
	})
}

// GetBlob reads what PutBlob kept, or a user's upload, into memory that begins with
// so many bytes left free. One that is gone is NotFound; one that is another than it
// was is Conflict.
func (c *Connection) GetBlob(ctx context.Context, blob *jobs.Blob, free int) ([]byte, error) {
	b, err := c.bucket(ctx, blob.GetBucket())
	if err != nil {
		return nil, err
	}
	key, size := failure.Quote(blob.GetKey()), blob.GetSize()
	info, err := b.info(ctx, blob.GetKey())
	if err != nil {
		return nil, failure.Prefix("the object "+key, err)
	}
	if info.Size != size {
		return nil, failure.New(failure.Conflict, "the object %s has changed since the job was accepted: it had %d bytes and has %d", key, size, info.Size)
	}
	if size > maxBlob {
		return nil, failure.New(failure.TooLarge, "the object %s has %d bytes, the most is %d", key, size, maxBlob)
	}
	data := make([]byte, free, free+int(size))
	if data, err = b.read(ctx, info, data); err != nil {
		return nil, failure.Prefix("the object "+key, err)
	}
	if sum := sha256.Sum256(data[free:]); !bytes.Equal(sum[:], blob.GetDigest()) {
		return nil, failure.New(failure.Conflict, "the object %s has changed since the job was accepted", key)
	}
	return data, nil
}

// DropBlob deletes an object of Blobs. One that is gone already is no failure.
func (c *Connection) DropBlob(ctx context.Context, key string) error { return c.Drop(ctx, Blobs, key) }

// Drop deletes an object of a bucket without a trace: what the object store's own
// way leaves behind for each object would fill the bucket in the end. One that is
// gone already is no failure.
func (c *Connection) Drop(ctx context.Context, bucket, key string) error {
	b, err := c.bucket(ctx, bucket)
	if err != nil {
		return err
	}
	info, err := b.info(ctx, key)
	if err != nil {
		return ignoring(err, failure.NotFound)
	}
	return b.drop(ctx, key, info)
}

// drop deletes the chunks before what names them, so that a drop that ends between
// can be done again.
func (b *objects) drop(ctx context.Context, key string, info *jetstream.ObjectInfo) error {
	if info.Chunks > 0 {
		if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.chunks(info.NUID))); err != nil {
			return Failure(err)
		}
	}
	return Failure(b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.meta(key))))
}
