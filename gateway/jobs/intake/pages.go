package intake

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/jobs"
)

const (
	// window is how many pages may be on their way to the store.
	window = 8
	// pageTimeout is how long the store may be away or slow before a job is refused,
	// and pageTry how long one try may take.
	pageTimeout = 15 * time.Second
	pageTry     = 5 * time.Second
	pagePause   = 250 * time.Millisecond
)

// pages puts the items of one job into pages, and the pages into the store. Memory
// for images is used again. It is not safe for concurrent use.
type pages struct {
	store *jobs.Store
	job   string
	most  int // bytes of a page

	page  *pb.Page
	size  int
	arena []byte // the images of the present page
	free  [][]byte
	sent  []*sent // oldest first
	count uint32
	// bytes are those of all pages so far.
	bytes int64
}

// sent is a page that is on its way.
type sent struct {
	number uint32
	page   *pb.Page
	arena  []byte
	ack    jetstream.PubAckFuture
	err    error // it could not be sent, or stored
}

func newPages(store *jobs.Store, job string, most int) *pages {
	return &pages{store: store, job: job, most: most, page: &pb.Page{}}
}

// add takes an item, with an image that is copied, or without one.
func (p *pages) add(ctx context.Context, item *pb.Item, image []byte) error {
	size := proto.Size(item) + len(image) + 16
	if len(p.page.GetItems()) == pageItems || p.size+size > p.most {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if image != nil {
		item.Input = &pb.Item_Image{Image: p.keep(image)}
	}
	p.page.Items = append(p.page.Items, item)
	p.size += size
	return nil
}

// keep copies an image into the memory of the present page.
func (p *pages) keep(image []byte) []byte {
	if p.arena == nil {
		if n := len(p.free); n > 0 {
			p.arena, p.free = p.free[n-1][:0], p.free[:n-1]
		} else {
			p.arena = make([]byte, 0, p.most)
		}
	}
	begin := len(p.arena)
	p.arena = append(p.arena, image...)
	return p.arena[begin:len(p.arena):len(p.arena)]
}

// flush sends the present page. When too many are on their way it waits for the
// oldest.
func (p *pages) flush(ctx context.Context) error {
	if len(p.page.GetItems()) == 0 {
		return nil
	}
	if len(p.sent) == window {
		if err := p.oldest(ctx); err != nil {
			return err
		}
	}
	s := &sent{number: p.count, page: p.page, arena: p.arena}
	s.ack, s.err = p.store.PutPage(p.job, s.number, s.page)
	p.sent = append(p.sent, s)
	p.count++
	p.bytes += int64(p.size)
	p.page, p.size, p.arena = &pb.Page{}, 0, nil
	return nil
}

// finish sends what is left and waits until all is stored.
func (p *pages) finish(ctx context.Context) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	for len(p.sent) > 0 {
		if err := p.oldest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// oldest waits until the oldest page on its way is stored.
func (p *pages) oldest(ctx context.Context) error {
	s := p.sent[0]
	if err := p.settle(ctx, s); err != nil {
		return err
	}
	p.sent = p.sent[1:]
	if s.arena != nil {
		p.free = append(p.free, s.arena)
	}
	return nil
}

// settle waits until a page is stored, and sends it again while the store is away.
// The same page twice is stored once.
func (p *pages) settle(ctx context.Context, s *sent) error {
	patience, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	for {
		err := s.err
		if err == nil {
			err = stored(patience, s.ack)
		}
		s.err = err // its answer comes but once
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return failure.OfContext(ctx)
		case patience.Err() != nil:
			return failure.Wrap(err, failure.Unavailable, "the job store does not answer")
		case failure.KindOf(err) != failure.Unavailable && failure.KindOf(err) != failure.Deadline:
			return err
		}
		select {
		case <-patience.Done():
		case <-time.After(pagePause):
		}
		s.ack, s.err = p.store.PutPage(p.job, s.number, s.page)
	}
}

func stored(ctx context.Context, ack jetstream.PubAckFuture) error {
	ctx, cancel := context.WithTimeout(ctx, pageTry)
	defer cancel()
	return jobs.Stored(ctx, ack)
}

// drop deletes all pages, after those on their way have come there.
func (p *pages) drop(ctx context.Context) error {
	for _, s := range p.sent {
		if s.err == nil {
			_ = stored(ctx, s.ack)
		}
	}
	if p.count == 0 {
		return nil
	}
	return p.store.DropPages(ctx, p.job)
}
