package stream

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// bucket makes a key-value or object bucket.
type bucket func(ctx context.Context, js jetstream.JetStream) error

// buckets are the key-value bucket and the object stores, as the streams below them.
func (l *Limits) buckets() []wanted {
	records := jetstream.KeyValueConfig{
		Bucket: Records, Description: "Jobs, idempotency keys and who feeds.", Storage: jetstream.FileStorage, MaxBytes: l.RecordBytes, Replicas: l.Replicas, History: 1,
	}
	list := []wanted{{
		flag: "jobs-record-bytes",
		StreamConfig: jetstream.StreamConfig{
			Name: "KV_" + Records, Description: records.Description, Subjects: []string{"$KV." + Records + ".>"},
			Storage: records.Storage, Discard: jetstream.DiscardNew, MaxBytes: records.MaxBytes, MaxMsgsPerSubject: 1, Replicas: records.Replicas,
		},
		bucket: func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.CreateKeyValue(ctx, records)
			return err
		},
	}}
	return append(list,
		l.objects("jobs-object-bytes", jetstream.ObjectStoreConfig{Bucket: Blobs, Description: "Inputs and answers that are too large for a message.", Storage: jetstream.FileStorage, MaxBytes: l.BlobBytes}),
		l.objects("jobs-object-bytes", jetstream.ObjectStoreConfig{Bucket: Uploads, Description: "Images that users put here and name in jobs.", Storage: jetstream.FileStorage, MaxBytes: l.BlobBytes}),
		l.objects("jobs-note-bytes", jetstream.ObjectStoreConfig{Bucket: Tensors, Description: "Tensors between two steps.", Storage: jetstream.MemoryStorage, MaxBytes: l.NoteBytes, TTL: notesFor}),
	)
}

func (l *Limits) objects(flag string, cfg jetstream.ObjectStoreConfig) wanted {
	cfg.Replicas = l.Replicas
	return wanted{
		flag: flag,
		StreamConfig: jetstream.StreamConfig{
			Name: "OBJ_" + cfg.Bucket, Description: cfg.Description, Subjects: []string{"$O." + cfg.Bucket + ".C.>", "$O." + cfg.Bucket + ".M.>"},
			Storage: cfg.Storage, Discard: jetstream.DiscardNew, MaxBytes: cfg.MaxBytes, MaxAge: cfg.TTL, Replicas: cfg.Replicas,
		},
		bucket: func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.CreateObjectStore(ctx, cfg)
			return err
		},
	}
}
