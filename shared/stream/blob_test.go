package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/testkit/natstest"
)

func random(n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = source.Read(data) // it never fails
	return data
}

// messages counts what a bucket holds: an object is a message and its chunks.
func messages(t *testing.T, c *stream.Connection, bucket string) uint64 {
	t.Helper()
	s, err := c.JetStream().Stream(t.Context(), "OBJ_"+bucket)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	const page = 768 << 10
	for _, size := range []int{0, 1, 128 << 10, page - 1, page, page + 1, 2 * page, 5*page + 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := made(t)
			data := random(size)
			for name, put := range map[string]func(key string) (*jobs.Blob, error){
				"bytes": func(key string) (*jobs.Blob, error) { return c.PutBlob(t.Context(), stream.Blobs, key, data) },
				"reader": func(key string) (*jobs.Blob, error) {
					return c.PutBlobFrom(t.Context(), stream.Blobs, key, bytes.NewReader(data))
				},
				"drops": func(key string) (*jobs.Blob, error) {
					return c.PutBlobFrom(t.Context(), stream.Blobs, key, iotest.HalfReader(bytes.NewReader(data)))
				},
			} {
				key := fmt.Sprintf("job/%s/%d", name, size)
				blob, err := put(key)
				if err != nil {
					t.Fatal(err)
				}
				if blob.GetSize() != uint64(size) || blob.GetKey() != key || blob.GetBucket() != stream.Blobs {
					t.Errorf("%s: it is %v", name, blob)
				}
				got, err := c.GetBlob(t.Context(), blob, 4)
				if err != nil || len(got) != size+4 || cap(got) != size+4 || !bytes.Equal(got[4:], data) {
					t.Errorf("%s: %d bytes of %d come back, %v", name, len(got)-4, size, err)
				}
				checkClient(t, c, key, data)
				for range 2 {
					if err := c.DropBlob(t.Context(), key); err != nil {
						t.Error(err)
					}
				}
				if _, err := c.GetBlob(t.Context(), blob, 0); failure.KindOf(err) != failure.NotFound || err == nil {
					t.Errorf("%s: one that was dropped gives %v", name, err)
				}
			}
			if n := messages(t, c, stream.Blobs); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	}
}

// checkClient reads an object as other programs do.
func checkClient(t *testing.T, c *stream.Connection, key string, want []byte) {
	t.Helper()
	store, err := c.JetStream().ObjectStore(t.Context(), stream.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.GetBytes(t.Context(), key); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the client reads %d bytes of %d, %v", len(got), len(want), err)
	}
}

// Users put their objects with the client.
func TestUploads(t *testing.T) {
	t.Parallel()
	c := made(t)
	store, err := c.JetStream().ObjectStore(t.Context(), stream.Uploads)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 128 << 10, 128<<10 + 1, 3_000_000} {
		data := random(size)
		info, err := store.PutBytes(t.Context(), "a b/ü*.jpg", data)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := jetstream.DecodeObjectDigest(info.Digest)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.GetBlob(t.Context(), &jobs.Blob{Bucket: stream.Uploads, Key: info.Name, Size: info.Size, Digest: digest}, 0)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes of %d, %v", len(got), size, err)
		}
	}
}

func TestBlobsThatCantBeRead(t *testing.T) {
	t.Parallel()
	c := made(t)
	put := func(key string, size int) *jobs.Blob {
		blob, err := c.PutBlob(t.Context(), stream.Blobs, key, random(size))
		if err != nil {
			t.Fatal(err)
		}
		return blob
	}
	store, err := c.JetStream().ObjectStore(t.Context(), stream.Blobs)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.JetStream().Stream(t.Context(), "OBJ_triptych-blobs")
	if err != nil {
		t.Fatal(err)
	}
	without := func(key string, chunks ...uint64) *jobs.Blob {
		blob := put(key, 2_000_000) // three chunks
		info, err := s.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range chunks {
			if err := s.DeleteMsg(t.Context(), info.State.LastSeq-n); err != nil {
				t.Fatal(err)
			}
		}
		return blob
	}
	deleted := put("deleted", 10)
	changed, longer := put("changed", 10), put("longer", 10)
	if err := store.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(t.Context(), "changed", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(t.Context(), "longer", []byte("01234567890")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(t.Context(), "other", []byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	info, err := store.GetInfo(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddLink(t.Context(), "link", info); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		blob *jobs.Blob
		want failure.Kind
		text string
	}{
		"absent":       {&jobs.Blob{Bucket: stream.Blobs, Key: "absent"}, failure.NotFound, `the object "absent": it is not there`},
		"deleted":      {deleted, failure.NotFound, `the object "deleted": it is deleted`},
		"changed":      {changed, failure.Conflict, `the object "changed" has changed since the job was accepted`},
		"longer":       {longer, failure.Conflict, `the object "longer" has changed since the job was accepted: it had 10 bytes and has 11`},
		"a link":       {&jobs.Blob{Bucket: stream.Blobs, Key: "link"}, failure.Invalid, `the object "link": it is a link`},
		"no first":     {without("first", 3), failure.NotFound, `the object "first": it is not there`},
		"no middle":    {without("middle", 2), failure.NotFound, `the object "middle": it is not there`},
		"no last":      {without("last", 1), failure.NotFound, `the object "last": it is not there`},
		"no chunks":    {without("none", 1, 2, 3), failure.NotFound, `the object "none": it is not there`},
		"other bucket": {&jobs.Blob{Bucket: "none", Key: "a"}, failure.Unavailable, `the object store "none" is not there`},
	}
	for name, test := range tests {
		_, err := c.GetBlob(t.Context(), test.blob, 0)
		if err == nil || failure.KindOf(err) != test.want || failure.Message(err) != test.text {
			t.Errorf("%s: got %s %v, want %s %q", name, failure.KindOf(err), err, test.want, test.text)
		}
	}
}

var errBroken = errors.New("broken pipe")

// An upload that fails leaves nothing, wherever it fails.
func TestUploadsThatFail(t *testing.T) {
	t.Parallel()
	cancelled := func(after int) (context.Context, io.Reader) {
		ctx, cancel := context.WithCancel(t.Context())
		return ctx, io.MultiReader(bytes.NewReader(random(after)), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }))
	}
	early, nothing := cancelled(0)
	late, much := cancelled(6 << 20)
	tests := map[string]struct {
		ctx  context.Context
		r    io.Reader
		want func(error) bool
		full bool
	}{
		"at once":        {t.Context(), iotest.ErrReader(errBroken), func(err error) bool { return errors.Is(err, errBroken) }, false},
		"in the midst":   {t.Context(), io.MultiReader(bytes.NewReader(random(5<<20)), iotest.ErrReader(errBroken)), func(err error) bool { return errors.Is(err, errBroken) }, false},
		"ended early":    {early, nothing, func(err error) bool { return failure.KindOf(err) == failure.Cancelled }, false},
		"ended late":     {late, much, func(err error) bool { return failure.KindOf(err) == failure.Cancelled }, false},
		"a full bucket":  {t.Context(), bytes.NewReader(random(5 << 20)), func(err error) bool { return failure.KindOf(err) == failure.Busy }, true},
		"over its limit": {t.Context(), bytes.NewReader(random(2 << 20)), func(err error) bool { return failure.KindOf(err) == failure.Busy }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := made(t, func(c *stream.Config) {
				if test.full {
					c.Limits.BlobBytes = 1 << 20
				}
			})
			if _, err := c.PutBlobFrom(test.ctx, stream.Blobs, "key", test.r); err == nil || !test.want(err) {
				t.Errorf("it ends with %v", err)
			}
			if n := messages(t, c, stream.Blobs); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// What an object replaces goes, and a failed try to replace it changes nothing.
func TestBlobsAreReplaced(t *testing.T) {
	t.Parallel()
	c := made(t)
	var blob *jobs.Blob
	for range 3 {
		var err error
		if blob, err = c.PutBlob(t.Context(), stream.Blobs, "key", random(1_000_000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.PutBlobFrom(t.Context(), stream.Blobs, "key", io.MultiReader(bytes.NewReader(random(1_000_000)), iotest.ErrReader(errBroken))); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if n := messages(t, c, stream.Blobs); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
	if _, err := c.GetBlob(t.Context(), blob, 0); err != nil {
		t.Error(err)
	}
}

func TestManyBlobsAtOnce(t *testing.T) {
	t.Parallel()
	c := made(t)
	var group errgroup.Group
	group.SetLimit(16)
	for i := range 64 {
		group.Go(func() error {
			key, data := fmt.Sprint("k", i), random(300_000+i)
			blob, err := c.PutBlob(t.Context(), stream.Tensors, key, data)
			if err != nil {
				return err
			}
			got, err := c.GetBlob(t.Context(), blob, 0)
			if err != nil {
				return err
			}
			if !bytes.Equal(got, data) {
				return errors.New("other bytes come back")
			}
			return c.Drop(t.Context(), stream.Tensors, key)
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if n := messages(t, c, stream.Tensors); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func TestBlobsWithoutAServer(t *testing.T) {
	t.Parallel()
	s := natstest.Server(t)
	c := natstest.Store(t, s).Connection()
	blob, err := c.PutBlob(t.Context(), stream.Blobs, "key", random(10))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if _, err := c.GetBlob(t.Context(), blob, 0); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("reading gives %v", err)
	}
	if _, err := c.PutBlob(t.Context(), stream.Blobs, "other", random(10)); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("writing gives %v", err)
	}
	if err := c.DropBlob(t.Context(), "key"); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("deleting gives %v", err)
	}
}
