// Package verify holds answers against what they should be. It decorates a
// target: an answer that is wrong becomes an error of its own kind.
package verify

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
)

// firstLabel is a target whose answers must begin with a known label.
type firstLabel struct {
	load.Target
	names, want []string
}

// FirstLabel checks the first label of each answer: want[n] for item n, which
// errors call names[n].
func FirstLabel(target load.Target, names, want []string) load.Target {
	return &firstLabel{target, names, want}
}

// Do sends item n and checks its answer.
func (f *firstLabel) Do(ctx context.Context, n int) (measure.Answer, error) {
	answer, err := f.Target.Do(ctx, n)
	if err != nil {
		return answer, err
	}
	if len(answer.Labels) == 0 || answer.Labels[0] != f.want[n] {
		return answer, wrong(f.names[n], answer.Labels, f.want[n:n+1])
	}
	return answer, nil
}

// consistent is a target whose answers must not change.
type consistent struct {
	load.Target
	names []string
	first []atomic.Pointer[[]string]
}

// Consistent checks that all labels of an item's answer are those of its first
// answer. An answer that belongs to somebody else is caught so, even where the
// right labels are not known.
func Consistent(target load.Target, names []string) load.Target {
	return &consistent{target, names, make([]atomic.Pointer[[]string], len(names))}
}

// Do sends item n and checks its answer.
func (c *consistent) Do(ctx context.Context, n int) (measure.Answer, error) {
	answer, err := c.Target.Do(ctx, n)
	if err != nil {
		return answer, err
	}
	first := c.first[n].Load()
	if first == nil {
		labels := answer.Labels
		if c.first[n].CompareAndSwap(nil, &labels) {
			return answer, nil
		}
		first = c.first[n].Load()
	}
	if !slices.Equal(answer.Labels, *first) {
		return answer, wrong(c.names[n], answer.Labels, *first)
	}
	return answer, nil
}

func wrong(name string, got, want []string) error {
	return &measure.Fault{Kind: measure.WrongAnswer, Message: fmt.Sprintf("%s got %q, want %q", name, got, want)}
}
