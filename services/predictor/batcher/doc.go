// Package batcher forms batches across requests and gives each request its own
// rows of the answer. It knows the fields of a configuration's dynamic_batching
// and what they mean; it does not know what runs a batch.
//
// When a batch is cut. Requests wait in lanes, one for each combination of
// input names, datatypes and shapes, so that only what can be concatenated
// meets. An idle instance takes the lane whose oldest request has waited
// longest among those that are ready. A lane is ready, and its batch cut, for
// the first of these reasons that holds:
//
//   - full: the batch has max_batch_size rows, or the next request does not fit
//     (a request is never split, and never overtaken in its lane);
//   - delay: the oldest request has waited max_queue_delay_microseconds;
//   - idle: there is no delay, so an idle instance starts at once;
//   - preferred: the rows reach a preferred size, the largest that they reach;
//   - drain: the batcher is closing and waits for nobody.
//
// A delay or drain batch takes all that waits, up to max_batch_size. While all
// instances are busy a delay costs nothing, for the lanes fill meanwhile.
//
// Bounds. At most MaxQueueSize requests wait: one more is Busy at once, with a
// hint computed from the recent speed. What waits longer than the queue policy
// allows is Deadline (REJECT) or goes to the back of its lane once (DELAY). A
// caller that goes away while it waits frees its place at once and is never
// executed; when all callers of a running batch are gone, the run's context is
// cancelled.
package batcher
