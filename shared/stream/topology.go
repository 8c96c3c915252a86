package stream

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// duplicates is the window in which a message's id is remembered.
	duplicates = 2 * time.Minute
	// notesFor is how long a note is kept: an item that waits longer for its other
	// parts is started again.
	notesFor = time.Hour
	// nakPart is the part of the bytes for notes, once more, that the counts of
	// deliveries may take.
	nakPart = 16
	// ackPending bounds the tasks of one level that are with workers.
	ackPending = 1024
	// ModelKey is the metadata of a step stream that names its model.
	ModelKey = "triptych-model"
)

// wanted is one stream as it must be, and the flag that bounds its bytes.
type wanted struct {
	jetstream.StreamConfig
	flag      string
	consumers []jetstream.ConsumerConfig
}

// what names it as users know it.
func (w *wanted) what() string { return "the stream " + w.Name }

// of says whose the stream and its consumers are.
func (w *wanted) of(changes []Change) []Change {
	for i := range changes {
		changes[i].Model = w.Metadata[ModelKey]
	}
	return changes
}

// shared are the streams and buckets of all jobs.
func (l *Limits) shared() []wanted {
	all := append(l.streams(), l.buckets()...)
	for i := range all {
		c := &all[i].StreamConfig
		// New messages are refused when a stream is full: the other policy drops what
		// was accepted.
		c.Discard, c.Replicas, c.Duplicates, c.MaxMsgs, c.MaxMsgSize = jetstream.DiscardNew, l.Replicas, duplicates, -1, -1
		if c.Name == Naks {
			// It is written when something else is full or away: it must never be.
			c.Discard = jetstream.DiscardOld
		}
	}
	return all
}

// streams are the streams beside those of models.
func (l *Limits) streams() []wanted {
	return []wanted{
		{flag: "jobs-backlog-bytes", StreamConfig: jetstream.StreamConfig{
			Name: Inputs, Description: "Inputs of jobs, as they were accepted.", Subjects: []string{InputSubject("*", "*")},
			MaxMsgsPerSubject: -1, MaxBytes: l.BacklogBytes,
			// A cluster's other servers may not have yet what was stored.
			AllowDirect: l.Replicas == 1,
		}},
		{flag: "jobs-verdict-bytes", StreamConfig: jetstream.StreamConfig{
			Name: Verdicts, Description: "What became of each item, once.", Subjects: []string{VerdictSubject("*", "*")},
			MaxMsgsPerSubject: 1, MaxBytes: l.VerdictBytes,
		}},
		{flag: "jobs-dead-bytes", StreamConfig: jetstream.StreamConfig{
			Name: Dead, Description: "Items that were given up.", Subjects: []string{DeadSubject("*", "*")},
			MaxMsgsPerSubject: 1, MaxBytes: l.DeadBytes,
		}},
		{flag: "jobs-note-bytes", StreamConfig: jetstream.StreamConfig{
			Name: Notes, Description: "What a running item must not forget.", Subjects: []string{"triptych.note.>"},
			MaxMsgsPerSubject: 1, MaxBytes: l.NoteBytes, MaxAge: notesFor, Storage: jetstream.MemoryStorage,
		}},
		{flag: "jobs-note-bytes", StreamConfig: jetstream.StreamConfig{
			Name: Naks, Description: "Deliveries of tasks that do not count as failed.", Subjects: []string{"triptych.nak.>"},
			MaxMsgsPerSubject: 1, MaxBytes: max(l.NoteBytes/nakPart, leastBytes), MaxAge: notesFor, Storage: jetstream.MemoryStorage,
		}},
	}
}

// model is the queue of a model's tasks, with a consumer for each level. It lies in
// memory: a task that is lost is made again from the input.
func (l *Limits) model(model string) wanted {
	w := wanted{flag: "jobs-step-bytes", StreamConfig: jetstream.StreamConfig{
		Name: StepStream(model), Description: "Tasks for the model " + model + ".", Subjects: []string{"triptych.step." + Token(model) + ".>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.MemoryStorage, Discard: jetstream.DiscardNew,
		MaxBytes: l.StepBytes, MaxMsgs: l.StepMessages, MaxMsgsPerSubject: -1, MaxMsgSize: -1, Replicas: l.Replicas, Duplicates: duplicates,
		Metadata: map[string]string{ModelKey: model},
	}}
	for level := 1; level <= Levels; level++ {
		w.consumers = append(w.consumers, jetstream.ConsumerConfig{
			Durable: StepConsumer(level), FilterSubject: stepLevel(model, level), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: l.AckWait, MaxDeliver: -1, MaxAckPending: ackPending, MemoryStorage: true,
		})
	}
	return w
}
