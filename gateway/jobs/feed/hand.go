package feed

import (
	"time"

	pb "triptych/proto/jobs"
	"triptych/shared/stream"
)

// hold takes the undecided items of a page in hand.
func (t *term) hold(j *job, number uint32, p *pb.Page, found map[uint32]*flight) {
	items := p.GetItems()
	if len(items) == 0 {
		return
	}
	pg := j.ranges[number]
	if pg == nil {
		pg = &page{number: number, first: items[0].GetIndex(), last: items[len(items)-1].GetIndex()}
		j.ranges[number] = pg
	}
	pg.open(items)
	h := &hand{}
	for _, item := range items {
		if w := t.piece(j, pg, item, found); w != nil {
			pg.queued[item.GetIndex()] = true
			h.pieces = append(h.pieces, w)
		}
	}
	if len(h.pieces) > 0 {
		j.hands = append(j.hands, h)
		t.hands++
		j.level.hands++
	}
	t.settle(j, pg)
}

// piece is an item that is to be started; nil for one that is not.
func (t *term) piece(j *job, pg *page, item *pb.Item, found map[uint32]*flight) *piece {
	i := item.GetIndex()
	if t.board.Has(j.record.GetId(), i) {
		return nil
	}
	pg.undecided[i] = true
	if pg.queued[i] || j.flights[i] != nil {
		return nil
	}
	f := t.flight(j, pg, i, found)
	if f == nil {
		return nil
	}
	f.page = pg
	return &piece{job: j, page: pg, item: item, flight: f}
}

// flight is how an item is to be started; nil for one that is on its way, or whose
// verdict is on its way to the board.
func (t *term) flight(j *job, pg *page, i uint32, found map[uint32]*flight) *flight {
	if f := j.lost[i]; f != nil {
		delete(j.lost, i)
		return f
	}
	if f, asked := found[i]; asked {
		return f
	}
	if j.alive[i] {
		delete(j.alive, i)
		t.fly(j, &flight{item: i, page: pg, attempt: t.epoch << attemptsOf, begun: true, since: time.Now()})
		return nil
	}
	return &flight{item: i, attempt: 1}
}

// open makes a page ready for its items to be undecided.
func (p *page) open(items []*pb.Item) {
	if p.undecided == nil {
		p.undecided, p.queued, p.blobs = map[uint32]bool{}, map[uint32]bool{}, map[uint32]string{}
	}
	for _, item := range items {
		if key := ownBlob(item); key != "" {
			p.blobs[item.GetIndex()] = key
		}
	}
}

// ownBlob is the key of an item's input in the object store, if it is there and is
// ours to delete.
func ownBlob(item *pb.Item) string {
	for _, blob := range []*pb.Blob{item.GetBlob(), item.GetRequestBlob()} {
		if blob.GetBucket() == stream.Blobs {
			return blob.GetKey()
		}
	}
	return ""
}
