package stream

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
)

// difference is a field of a stream or a consumer that is not as it must be.
type difference struct {
	field      string
	have, want string
	// fixed is set when NATS can't change the field.
	fixed bool
}

func (d difference) String() string { return fmt.Sprintf("%s %s -> %s", d.field, d.have, d.want) }

// differences compares what can matter to jobs. The rest is whoever's who runs NATS:
// placement, tags, mirrors of it elsewhere.
func (w *wanted) differences(have *jetstream.StreamConfig) []difference {
	c := comparison{}
	c.add("storage", have.Storage, w.Storage, true)
	c.add("retention", have.Retention, w.Retention, true)
	c.add("subjects", subjects(have.Subjects), subjects(w.Subjects), true)
	c.add("discard", have.Discard, w.Discard, false)
	c.add("max_bytes", have.MaxBytes, w.MaxBytes, false)
	c.add("max_age", have.MaxAge, w.MaxAge, false)
	c.add("replicas", have.Replicas, w.Replicas, false)
	c.add("description", fmt.Sprintf("%q", have.Description), fmt.Sprintf("%q", w.Description), false)
	c.add("max_msgs", unlimited(have.MaxMsgs), unlimited(w.MaxMsgs), false)
	c.add("max_msgs_per_subject", unlimited(have.MaxMsgsPerSubject), unlimited(w.MaxMsgsPerSubject), false)
	c.add("max_msg_size", unlimited(int64(have.MaxMsgSize)), unlimited(int64(w.MaxMsgSize)), false)
	c.add("duplicate_window", have.Duplicates, w.Duplicates, false)
	c.add("allow_direct", have.AllowDirect, w.AllowDirect, false)
	c.add("allow_rollup_hdrs", have.AllowRollup, w.AllowRollup, false)
	c.add("deny_delete", have.DenyDelete, w.DenyDelete, true)
	c.add("sealed", have.Sealed, false, true)
	c.add("metadata "+ModelKey, fmt.Sprintf("%q", have.Metadata[ModelKey]), fmt.Sprintf("%q", w.Metadata[ModelKey]), false)
	return c.found
}

// adapted is a stream's configuration with what jobs need put into it.
func (w *wanted) adapted(have jetstream.StreamConfig) jetstream.StreamConfig {
	have.Discard, have.MaxBytes, have.MaxAge, have.Replicas, have.Description = w.Discard, w.MaxBytes, w.MaxAge, w.Replicas, w.Description
	have.MaxMsgs, have.MaxMsgsPerSubject, have.MaxMsgSize, have.Duplicates = w.MaxMsgs, w.MaxMsgsPerSubject, w.MaxMsgSize, w.Duplicates
	have.AllowDirect, have.AllowRollup = w.AllowDirect, w.AllowRollup
	have.Metadata = maps.Clone(have.Metadata)
	if have.Metadata == nil {
		have.Metadata = map[string]string{}
	}
	maps.Copy(have.Metadata, w.Metadata)
	return have
}

// consumerDifferences compares a consumer of a model's queue.
func consumerDifferences(have, want *jetstream.ConsumerConfig) []difference {
	c := comparison{}
	c.add("ack_policy", have.AckPolicy, want.AckPolicy, true)
	c.add("deliver_policy", have.DeliverPolicy, want.DeliverPolicy, true)
	c.add("filter_subject", have.FilterSubject, want.FilterSubject, true)
	c.add("push", have.DeliverSubject != "", false, true)
	c.add("ack_wait", have.AckWait, want.AckWait, false)
	c.add("max_ack_pending", have.MaxAckPending, want.MaxAckPending, false)
	c.add("max_deliver", have.MaxDeliver, want.MaxDeliver, false)
	c.add("backoff", len(have.BackOff) > 0, false, false)
	c.add("headers_only", have.HeadersOnly, false, false)
	c.add("inactive_threshold", have.InactiveThreshold, time.Duration(0), false)
	return c.found
}

func adaptedConsumer(have jetstream.ConsumerConfig, want *jetstream.ConsumerConfig) jetstream.ConsumerConfig {
	have.AckWait, have.MaxAckPending, have.MaxDeliver = want.AckWait, want.MaxAckPending, want.MaxDeliver
	have.BackOff, have.HeadersOnly, have.InactiveThreshold = nil, false, 0
	return have
}

type comparison struct{ found []difference }

func (c *comparison) add(field string, have, want any, fixed bool) {
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		c.found = append(c.found, difference{field: field, have: h, want: w, fixed: fixed})
	}
}

// unlimited is one way to write what the server takes for no limit.
func unlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

func subjects(list []string) string {
	return strings.Join(slices.Sorted(slices.Values(list)), ",")
}

// incompatible is the failure of something that is there and can't be changed.
func incompatible(what string, found []difference) error {
	for _, d := range found {
		if d.fixed {
			return failure.New(failure.Conflict, "%s has %s %s and needs %s, which NATS can't change: when no job is open, delete it and start again", what, d.field, d.have, d.want)
		}
	}
	return nil
}

func texts(found []difference) string {
	list := make([]string, len(found))
	for i, d := range found {
		list[i] = d.String()
	}
	return strings.Join(list, ", ")
}
