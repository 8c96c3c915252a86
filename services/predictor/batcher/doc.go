// Package batcher forms batches across requests and gives each request its own
// rows of the answer. It knows the fields of a configuration's dynamic_batching
// and what they mean; it does not know what runs a batch.
//
// Requests wait in lanes, one for each combination of input names, datatypes and
// shapes, so that only what can be concatenated meets. In a lane they are ordered
// by priority level, then by deadline, then by arrival; with preserve_ordering, or
// by Triton's rules, by level and arrival. An idle instance takes the lane whose
// first request comes first in that order. No level starves: its first request is
// in one of the next 8 batches, or, when other levels have waited as long, one
// batch later for each of them.
//
// When a batch is cut. It has the first requests of its lane that fit together:
// none is split and none is overtaken. The reason is one of
//
//   - full: max_batch_size rows, or the next request does not fit;
//   - enough: more rows would hardly make a row cheaper, as on most CPUs, where of
//     a crowd two run together;
//   - preferred: a preferred size, the largest that the requests have together;
//   - delay: the oldest request has waited max_queue_delay_microseconds;
//   - deadline: a request would be late if it waited longer;
//   - share: more of the work of jobs would hold up who waits for an answer;
//   - probe: one row alone, or twice as many as seem to pay, when none did in 512
//     batches, to know again what that takes;
//   - shape: waiting would pay, but requests of another lane wait too;
//   - idle: an instance is idle, and nobody comes who is worth waiting for;
//   - drain: the batcher is closing and waits for nobody.
//
// The work of jobs (call.Info.Bulk) is a level below all others: it fills batches
// up, and by the policy "adaptive", while requests come for which somebody waits, it
// makes a batch of theirs at most half as long again, and one of its own at most
// twice as long as one row. Its number is not bounded here, nor does it count against
// the others' bounds, so neither road can take the other's place in the queue.
//
// The policy "adaptive" learns how long a batch of n rows takes and when
// requests come, and waits only for as long as the sum of all waiting gets
// smaller by it; the delay is the most that it waits (see [adaptive]). The policy
// "triton" waits the delay whenever a batch has no preferred size, knows neither
// enough, deadline, probe nor shape, and refuses no request for its deadline.
//
// Bounds. At most MaxQueueSize requests of a level wait: one more is Busy at
// once, with a hint computed from the recent speed. A request that can't be
// answered within its deadline, by what is known of the cost of batches, is
// Deadline at once, with a hint when it could; when nothing has run for a second,
// it runs all the same, for what is known may be wrong. What waits longer than the queue
// policy allows is Deadline (REJECT) or goes behind the others of its level
// (DELAY). A caller that goes away while it waits frees its place at once and is
// never executed; when all callers of a running batch are gone, the run's context
// is cancelled.
//
// Failures. The members of a batch that failed run once more, each alone, so that
// one poisonous request fails alone, and one that hangs ends with its caller. When the device's memory was too small, they
// run in halves, and the most rows of a batch are halved; every 30 seconds they
// are doubled again.
package batcher
