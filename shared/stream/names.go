package stream

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The streams and buckets.
const (
	// Inputs keeps the pages of accepted jobs: the backlog.
	Inputs = "TRIPTYCH_INPUTS"
	// Verdicts keeps one message for each item that has a verdict.
	Verdicts = "TRIPTYCH_VERDICTS"
	// Dead keeps the dead letters.
	Dead = "TRIPTYCH_DEAD"
	// Notes keeps, in memory, what a running item must not forget: the parts of a
	// join.
	Notes = "TRIPTYCH_NOTES"
	// Naks counts, in memory, deliveries of tasks that do not count as failed. Parts of
	// joins can't fill it.
	Naks = "TRIPTYCH_NAKS"
	// Records is the key-value bucket of job records, idempotency keys and the lease.
	Records = "triptych"
	// Blobs is the object store's bucket of inputs and answers that are too large for
	// a message. Tensors keeps, in memory, those between two steps. Uploads is filled
	// by users, who name its objects in jobs.
	Blobs   = "triptych-blobs"
	Tensors = "triptych-tensors"
	Uploads = "triptych-uploads"

	stepStream = "TRIPTYCH_STEP_"
)

// Levels is how many priorities there are: 1 is the most urgent. A job that names
// none is in the middle.
const (
	Levels       = 3
	DefaultLevel = 2
)

// Level is the queue's priority of a job's: 0 was not said.
func Level(priority uint64) int {
	if priority == 0 {
		return DefaultLevel
	}
	return int(min(priority, Levels))
}

// Token is a name as one token of a subject: what has a meaning there, and "_",
// becomes "_" and two hexadecimal digits.
func Token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// StepStream is the stream of the tasks of a model.
func StepStream(model string) string { return stepStream + Token(model) }

// StepConsumer is the durable consumer of a step stream's level.
func StepConsumer(level int) string { return "level-" + strconv.Itoa(level) }

// StepSubject is the subject of one task.
func StepSubject(model string, level int, job string, item, step uint32) string {
	return fmt.Sprintf("triptych.step.%s.%d.%s.%d.%d", Token(model), level, job, item, step)
}

func stepLevel(model string, level int) string {
	return fmt.Sprintf("triptych.step.%s.%d.>", Token(model), level)
}

// InputSubject is the subject of a page of a job; of all of them for "*".
func InputSubject(job, page string) string { return "triptych.input." + job + "." + page }

// VerdictSubject is the subject of an item's verdict; of all of a job's for "*".
func VerdictSubject(job, item string) string { return "triptych.verdict." + job + "." + item }

// DeadSubject is the subject of an item's dead letter.
func DeadSubject(job, item string) string { return "triptych.dead." + job + "." + item }

// JoinSubject is where the outputs that one step gives to another wait for the
// others that it needs.
func JoinSubject(job string, item, attempt, step, from uint32) string {
	return fmt.Sprintf("triptych.note.%s.%d.join.%d.%d.%d", job, item, attempt, step, from)
}

// NakSubject is where the deliveries of a task that do not count as failed are
// counted.
func NakSubject(job string, item, step uint32) string {
	return fmt.Sprintf("triptych.nak.%s.%d.%d", job, item, step)
}

// NakSubjects are those of a whole job.
func NakSubjects(job string) string { return "triptych.nak." + job + ".>" }

// NoteSubjects are all notes of an item; of a whole job for "*".
func NoteSubjects(job, item string) string { return "triptych.note." + job + "." + item + ".>" }

// JobRecord is the key of a job's record, and JobRecords of all.
func JobRecord(id string) string { return "job." + id }

// JobRecords matches the keys of all job records.
const JobRecords = "job.>"

// KeyRecord is the key of what is kept of an idempotency key, by its SHA-256.
func KeyRecord(hash []byte) string { return "key." + hex.EncodeToString(hash) }

// ItemOf reads the job and the item out of the subject of a verdict or a dead
// letter.
func ItemOf(subject string) (job string, item uint32, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(parts[3], 10, 32)
	return parts[2], uint32(n), err == nil
}
