package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/proto/jobs"
	"triptych/shared/failure"
)

// PutBlob keeps bytes in a bucket, under a key that nobody else uses.
func (c *Connection) PutBlob(ctx context.Context, bucket, key string, data []byte) (*jobs.Blob, error) {
	store, err := c.js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, Failure(err)
	}
	if _, err := store.Put(ctx, jetstream.ObjectMeta{Name: key}, bytes.NewReader(data)); err != nil {
		return nil, Failure(err)
	}
	sum := sha256.Sum256(data)
	return &jobs.Blob{Bucket: bucket, Key: key, Size: uint64(len(data)), Digest: sum[:]}, nil
}

// PutBlobFrom is PutBlob of what a reader gives. When the reader fails nothing is
// kept, and its error is returned.
func (c *Connection) PutBlobFrom(ctx context.Context, bucket, key string, r io.Reader) (*jobs.Blob, error) {
	store, err := c.js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, Failure(err)
	}
	sum := sha256.New()
	info, err := store.Put(ctx, jetstream.ObjectMeta{Name: key}, io.TeeReader(r, sum))
	if err != nil {
		return nil, Failure(err)
	}
	return &jobs.Blob{Bucket: bucket, Key: key, Size: info.Size, Digest: sum.Sum(nil)}, nil
}

// GetBlob reads what PutBlob kept, or a user's upload, into memory that begins with
// so many bytes left free. One that is gone is NotFound; one that is another than it
// was is Conflict.
func (c *Connection) GetBlob(ctx context.Context, blob *jobs.Blob, free int) ([]byte, error) {
	store, err := c.js.ObjectStore(ctx, blob.GetBucket())
	if err != nil {
		return nil, Failure(err)
	}
	object, err := store.Get(ctx, blob.GetKey())
	if err != nil {
		return nil, Failure(err)
	}
	defer object.Close()
	data := make([]byte, free+int(blob.GetSize()))
	n, err := io.ReadFull(object, data[free:])
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "the object %q ends after %d of %d bytes", blob.GetKey(), n, blob.GetSize())
	}
	if sum := sha256.Sum256(data[free:]); !bytes.Equal(sum[:], blob.GetDigest()) {
		return nil, failure.New(failure.Conflict, "the object %q has changed since the job was accepted", blob.GetKey())
	}
	return data, nil
}

// DropBlob deletes an object of Blobs. One that is gone already is no failure.
func (c *Connection) DropBlob(ctx context.Context, key string) error {
	store, err := c.js.ObjectStore(ctx, Blobs)
	if err != nil {
		return Failure(err)
	}
	if err := store.Delete(ctx, key); err != nil && failure.KindOf(Failure(err)) != failure.NotFound {
		return Failure(err)
	}
	return nil
}
