package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"sync"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/stream"
)

const (
	// blobMemory is up to what size an image is read whole and stored while the next
	// one is read; a larger one is stored as it comes.
	blobMemory = 2 << 20
	// blobsAtOnce is how many of one job are stored at a time.
	blobsAtOnce = 4
)

// blobs puts the large images of one job into the object store. Only its goroutines
// run beside the caller.
type blobs struct {
	ctx    context.Context //nolint:containedctx // it is the job's, which the blobs are a part of
	cancel context.CancelCauseFunc
	conn   *stream.Connection
	job    string
	items  []uint32 // those whose images may be there

	slots   chan struct{}
	free    chan []byte // memory for images, no more than there are slots
	running sync.WaitGroup
	mu      sync.Mutex
	err     error
}

func newBlobs(ctx context.Context, cancel context.CancelCauseFunc, conn *stream.Connection, job string) *blobs {
	return &blobs{ctx: ctx, cancel: cancel, conn: conn, job: job, slots: make(chan struct{}, blobsAtOnce), free: make(chan []byte, blobsAtOnce)}
}

// put stores an image, perhaps later: finish tells.
func (b *blobs) put(item uint32, r io.Reader) (*pb.Blob, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.ctx.Done():
		return nil, failure.OfContext(b.ctx)
	}
	buffer := b.take()
	n, err := io.ReadFull(r, buffer)
	if err != nil && err != io.ErrUnexpectedEOF { // ReadFull's own; that of the reader has a Kind
		b.done(buffer)
		return nil, err
	}
	key := jobs.InputBlob(b.job, item)
	b.items = append(b.items, item)
	if err == nil { // there may be more
		defer b.done(buffer)
		return b.conn.PutBlobFrom(b.ctx, stream.Blobs, key, io.MultiReader(bytes.NewReader(buffer), r))
	}
	image := buffer[:n]
	b.running.Go(func() {
		defer b.done(buffer)
		b.fail(failure.Guard("an image could not be stored", func() error {
			_, err := b.conn.PutBlob(b.ctx, stream.Blobs, key, image)
			return err
		}))
	})
	sum := sha256.Sum256(image)
	return &pb.Blob{Bucket: stream.Blobs, Key: key, Size: uint64(n), Digest: sum[:]}, nil
}

// take gives memory for an image, which done gives back with the slot.
func (b *blobs) take() []byte {
	select {
	case buffer := <-b.free:
		return buffer
	default:
		return make([]byte, blobMemory)
	}
}

func (b *blobs) done(buffer []byte) {
	b.free <- buffer
	<-b.slots
}

// fail ends the job for the first failure.
func (b *blobs) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && b.err == nil && b.ctx.Err() == nil {
		b.err = err
		b.cancel(err)
	}
}

// refused is why an image could not be stored, if one could not.
func (b *blobs) refused() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// finish waits until all images are stored.
func (b *blobs) finish() error {
	b.running.Wait()
	return b.refused()
}

// drop deletes all images.
func (b *blobs) drop(ctx context.Context) error {
	b.running.Wait()
	var failed error
	for _, item := range b.items {
		if err := failure.OfContext(ctx); err != nil {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, b.conn.DropBlob(ctx, jobs.InputBlob(b.job, item)))
	}
	return failed
}
