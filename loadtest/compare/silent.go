package compare

import "triptych/shared/failure"

// silent says which turn had no answers, and why.
func silent(rounds []Round) error {
	for n := range rounds {
		for side := range rounds[n].Results {
			switch r := rounds[n].Results[side].Result; {
			case r.Answered > 0:
			case r.Errors > 0:
				return failure.New(failure.Invalid, "there is nothing to compare: %s had no answers in round %d: %s", SideName(side), n+1, r.Whole())
			default:
				return failure.New(failure.Invalid, "there is nothing to compare: %s had no answers in round %d", SideName(side), n+1)
			}
		}
	}
	return nil
}
