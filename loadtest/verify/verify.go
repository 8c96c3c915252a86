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

// Check judges the labels of an answer to item n. It may be called concurrently.
type Check func(n int, labels []string) error

// checked is a target whose answers are checked.
type checked struct {
	load.Target
	check Check
}

// With holds each answer of a target against all checks.
func With(target load.Target, checks ...Check) load.Target {
	if len(checks) == 0 {
		return target
	}
	return &checked{target, All(checks...)}
}

// Do sends item n and checks its answer.
func (c *checked) Do(ctx context.Context, n int) (measure.Answer, error) {
	answer, err := c.Target.Do(ctx, n)
	if err == nil {
		err = c.check(n, answer.Labels)
	}
	return answer, err
}

// All is what the first check says that is not content.
func All(checks ...Check) Check {
	return func(n int, labels []string) error {
		for _, check := range checks {
			if err := check(n, labels); err != nil {
				return err
			}
		}
		return nil
	}
}

// First checks the first label of each answer: want[n] for item n, which errors
// call names[n].
func First(names, want []string) Check {
	return func(n int, labels []string) error {
		if len(labels) == 0 || labels[0] != want[n] {
			return wrong(names[n], labels, want[n:n+1])
		}
		return nil
	}
}

// Same checks that all labels of an item's answer are those of its first
// answer. An answer that belongs to somebody else is caught so, even where the
// right labels are not known.
func Same(names []string) Check {
	firsts := make([]atomic.Pointer[[]string], len(names))
	return func(n int, labels []string) error {
		first := firsts[n].Load()
		if first == nil {
			if firsts[n].CompareAndSwap(nil, &labels) {
				return nil
			}
			first = firsts[n].Load()
		}
		if !slices.Equal(labels, *first) {
			return wrong(names[n], labels, *first)
		}
		return nil
	}
}

func wrong(name string, got, want []string) error {
	return &measure.Fault{Kind: measure.WrongAnswer, Message: fmt.Sprintf("%s got %q, want %q", name, got, want)}
}
