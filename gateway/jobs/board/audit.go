package board

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/stream"
)

// auditor looks, now and then, at whether the board gets what there is: a consumer
// can look alive and give nothing.
type auditor struct {
	board *Board
	at    time.Time
	// What was in the streams at the last look, and what the board had of it.
	verdicts, records, applied, revised uint64
}

// recordSubjects are the subjects of the records of jobs.
const recordSubjects = "$KV." + stream.Records + "." + stream.JobRecords

// look is an error when what was there an audit ago has not come since. That NATS
// does not answer is not its business.
func (a *auditor) look(ctx context.Context) error {
	if time.Since(a.at) < audit {
		return nil
	}
	a.at = time.Now()
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	b := a.board
	b.sweep(ctx)
	verdicts, err := b.lastVerdict(ctx)
	if err != nil {
		return nil // see above
	}
	records, err := b.lastRecord(ctx)
	if err != nil {
		return nil // see above
	}
	b.mu.Lock()
	applied, revised := b.applied, b.revised
	b.mu.Unlock()
	before := *a
	a.verdicts, a.records, a.applied, a.revised = verdicts, records, applied, revised
	if verdicts < applied || applied < before.verdicts && applied == before.applied || revised < before.records && revised == before.revised {
		return failure.New(failure.Unavailable, "what is stored of jobs does not come")
	}
	return nil
}

func (b *Board) lastRecord(ctx context.Context) (uint64, error) {
	records, err := b.store.Connection().JetStream().Stream(ctx, "KV_"+stream.Records)
	if err != nil {
		return 0, stream.Failure(err)
	}
	msg, err := records.GetLastMsgForSubject(ctx, recordSubjects)
	if failure.KindOf(stream.Failure(err)) == failure.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, stream.Failure(err)
	}
	return msg.Sequence, nil
}

// maxSwept bounds the records that are asked for at one look.
const maxSwept = 64

// sweep asks for the records of jobs of which only verdicts have come: most have
// been deleted.
func (b *Board) sweep(ctx context.Context) {
	for _, job := range b.strays() {
		kv, err := b.store.Records(ctx)
		if err != nil {
			return
		}
		entry, err := kv.Get(ctx, stream.JobRecord(job))
		if failure.KindOf(stream.Failure(err)) == failure.NotFound {
			b.drop(job)
		}
		if err != nil {
			continue
		}
		record := &pb.Job{}
		if proto.Unmarshal(entry.Value(), record) == nil {
			b.tell(b.write(job, record, entry.Revision())...)
		}
	}
}

func (b *Board) strays() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var strays []string
	for job, e := range b.entries {
		if e.record == nil && (len(e.early) > 0 || e.missed) && time.Since(e.since) > audit && len(strays) < maxSwept {
			strays = append(strays, job)
		}
	}
	return strays
}

func (b *Board) drop(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[job]; e != nil && e.record == nil {
		b.remove(job, e)
	}
}
