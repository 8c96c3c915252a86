package main

import (
	"fmt"
	"time"

	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

// contact makes sure that there is a server before anything is measured. What a
// server refuses for good ends the test too, unless errors are allowed.
func (p *program) contact(o outputFlags, work *workload.Workload, timeout time.Duration) error {
	err := work.Contact(p.ctx, timeout)
	if o.allowErrors && failure.KindOf(err) == failure.Invalid {
		return nil
	}
	return err
}

// warnOfTime says how long a search may take.
func (p *program) warnOfTime(o outputFlags, most time.Duration) {
	if !o.quiet {
		_, _ = fmt.Fprintf(p.stderr, "this takes at most about %s, mostly far less\n", most.Round(time.Second))
	}
}
