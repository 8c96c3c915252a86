package gate

import "triptych/shared/failure"

// reason is why a request was not let in.
type reason uint8

const (
	admitted reason = iota
	full            // as many wait as may, and none of them has to go for it
	pushed          // it waited, and had to go for another
	late            // it could not be answered before its deadline
	patient         // it would wait, or has waited, for longer than anyone may
	expired         // its deadline passed while it waited
	gone            // its caller went away while it waited
	reasons
)

// labels are the reasons in metrics.
var labels = [reasons]string{full: "full", pushed: "pushed_out", late: "too_late", patient: "max_wait", expired: "deadline", gone: "cancelled"}

// texts are what callers read.
var texts = [reasons]string{
	full:    "as many requests wait as may",
	pushed:  "more urgent requests, or those of others, came before this one",
	late:    "the request could not be answered before its deadline",
	patient: "the request would wait for too long",
}

func (r reason) text() string { return texts[r] }

// reasonOf is that of one whose context ended.
func reasonOf(err error) reason {
	if failure.KindOf(err) == failure.Deadline {
		return expired
	}
	return gone
}

func (g *gate) count(r reason, level int) { g.refused[r][level]++ }
