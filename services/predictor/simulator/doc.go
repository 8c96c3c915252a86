// Package simulator is the backend "simulator": an accelerator that is not there.
// Its models answer with tensors of the configured shapes after the time that an
// accelerator would take, and use no CPU meanwhile. They run behind the same
// batcher as real models, so capacity can be planned, and batching be tested,
// without a GPU. What they answer means nothing.
//
// The time. A batch of n items takes fixed_us + per_item_us * n, and each instance
// runs one batch at a time. Answers are made while the time passes, not after it.
//
// What goes wrong. Every fail_every-th batch of a version, and each one with a
// poisonous row, fails in the way that fail_with says; a batch that does not fit
// into the memory is refused at once.
package simulator
