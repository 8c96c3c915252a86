package intake

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// flush takes the items that are waiting, once their objects were found.
func (k *keys) flush() error {
	d, waiting := k.draft, k.waiting
	k.waiting = k.waiting[:0]
	blobs := make([]*pb.Blob, len(waiting))
	if !d.repeated && len(waiting) > 0 {
		bucket, err := d.in.store.Connection().JetStream().ObjectStore(d.ctx, stream.Uploads)
		if err != nil {
			return failure.Wrap(err, failure.Unavailable, "the object store is not ready")
		}
		group, ctx := errgroup.WithContext(d.ctx)
		group.SetLimit(lookups)
		for i, r := range waiting {
			group.Go(func() (err error) {
				blobs[i], err = find(ctx, bucket, r.Key)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	for i, r := range waiting {
		if err := d.object(r, blobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// find looks for an object that a user has put into the store.
func find(ctx context.Context, bucket jetstream.ObjectStore, key string) (*pb.Blob, error) {
	info, err := bucket.GetInfo(ctx, key)
	if err != nil {
		if err = stream.Failure(err); failure.KindOf(err) == failure.NotFound {
			return nil, failure.New(failure.NotFound, "there is no object %s in the bucket %s", failure.Quote(key), stream.Uploads)
		}
		return nil, err
	}
	if info.Opts != nil && info.Opts.Link != nil {
		return nil, failure.New(failure.Invalid, "the object %s is a link, only objects themselves are taken", failure.Quote(key))
	}
	digest, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(info.Digest, "SHA-256="))
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "the object %s has no digest that can be read", failure.Quote(key))
	}
	return &pb.Blob{Bucket: stream.Uploads, Key: key, Size: info.Size, Digest: digest}, nil
}

// object takes the next item, which is an object. By its idempotency key a job names
// the same objects, whatever they are by then.
func (d *draft) object(r reference, blob *pb.Blob) error {
	name := r.Name
	if name == "" {
		name = r.Key
	}
	item, err := d.next(strings.ToValidUTF8(name, "\uFFFD"))
	if err != nil {
		return err
	}
	d.note(uint64(len(r.Key)))
	if d.sum != nil {
		_, _ = io.WriteString(d.sum, r.Key)
	}
	if d.repeated {
		return nil
	}
	d.bytes += int64(blob.GetSize())
	switch {
	case blob.GetSize() == 0:
		item.Input = broken(failure.New(failure.BrokenImage, "the image is empty: it has 0 bytes"))
	case blob.GetSize() > uint64(d.in.cfg.MaxImage):
		item.Input = d.tooLarge()
	default:
		item.Input = &pb.Item_Blob{Blob: blob}
	}
	return d.put(item, nil)
}
