package pipeline

import (
	"slices"
	"strconv"
	"strings"

	"triptych/shared/failure"
)

// checkCycles takes away the steps that can run, and then those that only wait
// behind others, until none is left or a cycle is.
func (p *Plan) checkCycles() error {
	stuck := make([]int, len(p.steps))
	for i := range stuck {
		stuck[i] = i
	}
	waits := func(i, j int) bool { return slices.Contains(p.steps[i].after, j) }
	stuck = trim(stuck, waits)
	stuck = trim(stuck, func(i, j int) bool { return waits(j, i) })
	if len(stuck) == 0 {
		return nil
	}
	names := make([]string, len(stuck))
	for i, index := range stuck {
		names[i] = strconv.Quote(p.steps[index].model)
	}
	if len(names) == 1 {
		return failure.New(failure.Invalid, "step %s waits for its own output", names[0])
	}
	return failure.New(failure.Invalid, "the steps %s wait for each other: the graph has a cycle", strings.Join(names, ", "))
}

// trim drops what is tied to nothing that is left, until all that is left is
// tied.
func trim(left []int, tied func(i, j int) bool) []int {
	for {
		kept := slices.DeleteFunc(slices.Clone(left), func(i int) bool {
			return !slices.ContainsFunc(left, func(j int) bool { return tied(i, j) })
		})
		if len(kept) == len(left) {
			return kept
		}
		left = kept
	}
}
