package intake

import (
	"bytes"
	"encoding/binary"
	"io"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
)

// image takes the next item out of a reader. What is wrong with the image alone
// becomes the item's failure; an error is the whole job's.
func (d *draft) image(name string, r io.Reader) error {
	item, err := d.next(name)
	if err != nil {
		return err
	}
	c := &counted{source: r, draft: d}
	if d.sum != nil {
		c.source = io.TeeReader(r, d.sum)
	}
	if d.repeated {
		_, err = io.Copy(io.Discard, c)
	} else {
		err = d.store(item, c)
	}
	if err != nil {
		return err
	}
	d.note(uint64(c.bytes))
	return nil
}

// next counts an item that comes.
func (d *draft) next(name string) (*pb.Item, error) {
	if int(d.items) == d.in.cfg.MaxItems {
		return nil, failure.New(failure.TooLarge, "the job has more than %d items", d.in.cfg.MaxItems)
	}
	item := &pb.Item{Index: d.items, Name: name}
	d.items++
	d.note(uint64(len(name)))
	if d.sum != nil {
		_, _ = io.WriteString(d.sum, name)
	}
	return item, nil
}

// note puts a number into the sum, so that no two jobs have the same.
func (d *draft) note(n uint64) {
	if d.sum != nil {
		_, _ = d.sum.Write(binary.BigEndian.AppendUint64(nil, n))
	}
}

// store puts an image where it belongs by its size.
func (d *draft) store(item *pb.Item, c *counted) error {
	if d.scratch == nil {
		d.scratch = make([]byte, d.inline+1)
	}
	n, err := io.ReadFull(c, d.scratch)
	switch {
	case err == nil:
		return d.large(item, c)
	case err == io.EOF: // ReadFull's own
		item.Input = broken(failure.New(failure.BrokenImage, "the image is empty: it has 0 bytes"))
		return d.put(item, nil)
	case err != io.ErrUnexpectedEOF: // ReadFull's own; that of the reader has a Kind
		return err
	case int64(n) > d.in.cfg.MaxImage:
		item.Input = d.tooLarge()
		return d.put(item, nil)
	default:
		return d.put(item, d.scratch[:n])
	}
}

// large puts an image that does not fit into a page into the object store.
func (d *draft) large(item *pb.Item, c *counted) error {
	l := &limited{source: io.MultiReader(bytes.NewReader(d.scratch), c), left: d.in.cfg.MaxImage}
	blob, err := d.blobs.put(item.GetIndex(), l)
	switch {
	case l.passed:
		item.Input = d.tooLarge()
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
	case err != nil:
		return d.reason(err)
	default:
		item.Input = &pb.Item_Blob{Blob: blob}
	}
	return d.put(item, nil)
}

func (d *draft) tooLarge() *pb.Item_Error {
	return broken(failure.New(failure.TooLarge, "the image has more than %d bytes", d.in.cfg.MaxImage))
}

func broken(err error) *pb.Item_Error {
	return &pb.Item_Error{Error: &pb.Error{Kind: failure.KindOf(err).String(), Message: failure.Message(err)}}
}

// put puts an item into the present page, with an image that is copied there.
func (d *draft) put(item *pb.Item, image []byte) error {
	return d.reason(d.pages.add(d.ctx, item, image))
}

// counted counts what a job's items have together.
type counted struct {
	source io.Reader
	draft  *draft
	bytes  int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.source.Read(p)
	c.bytes += int64(n)
	c.draft.bytes += int64(n)
	if most := c.draft.in.cfg.MaxBytes; c.draft.bytes > most {
		return 0, failure.New(failure.TooLarge, "the items of the job have more than %d bytes", most)
	}
	return n, err
}

// limited ends with a failure, instead of an end, when there is more than may be.
type limited struct {
	source io.Reader
	left   int64
	passed bool
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.source.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.passed = true
		return 0, failure.New(failure.TooLarge, "the image has too many bytes")
	}
	return n, err
}
