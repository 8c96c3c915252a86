package stream

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// buckets are the key-value bucket and the object stores, as the streams that they
// are. They are made as the client makes them, but for two things: a cluster's
// records are read from the server that writes them, and there is one way to compare
// and change all streams.
func (l *Limits) buckets() []wanted {
	return []wanted{
		{flag: "jobs-record-bytes", StreamConfig: jetstream.StreamConfig{
			Name: "KV_" + Records, Description: "Jobs, idempotency keys and who feeds.", Subjects: []string{"$KV." + Records + ".>"},
			MaxBytes: l.RecordBytes, MaxMsgsPerSubject: 1, AllowRollup: true, DenyDelete: true, AllowDirect: l.Replicas == 1, MaxConsumers: -1,
		}},
		l.objects("jobs-object-bytes", Blobs, "Inputs and answers that are too large for a message.", jetstream.FileStorage, l.BlobBytes, 0),
		l.objects("jobs-object-bytes", Uploads, "Images that users put here and name in jobs.", jetstream.FileStorage, l.BlobBytes, 0),
		l.objects("jobs-note-bytes", Tensors, "Tensors between two steps.", jetstream.MemoryStorage, l.NoteBytes, notesFor),
	}
}

func (l *Limits) objects(flag, bucket, description string, storage jetstream.StorageType, bytes int64, age time.Duration) wanted {
	return wanted{flag: flag, StreamConfig: jetstream.StreamConfig{
		Name: objectStream(bucket), Description: description, Subjects: []string{"$O." + bucket + ".C.>", "$O." + bucket + ".M.>"},
		Storage: storage, MaxBytes: bytes, MaxAge: age, MaxMsgsPerSubject: -1, AllowRollup: true, AllowDirect: true,
	}}
}
