package capacity

import (
	"context"
	"time"
)

// Told is the context of a call, in which the one who works on it tells the one who
// answers what it can take. It is for one goroutine at a time.
type Told struct {
	context.Context
	line   *Line
	report Report
	told   bool
}

type key struct{}

// Listen makes the context of a call whose answer can carry a report. The line is
// where the answer goes; nil is one over which every answer carries one.
func Listen(ctx context.Context, line *Line) *Told { return &Told{Context: ctx, line: line} }

// Value implements context.Context.
func (t *Told) Value(k any) any {
	if k == (key{}) {
		return t
	}
	return t.Context.Value(k)
}

// Wants tells whether it is time to tell of a version of a model again.
func (t *Told) Wants(model string, version int64, now time.Time) bool {
	return t.line == nil || t.line.due(spoken{model, version}, now)
}

// Report is what was told, if anything was.
func (t *Told) Report() (r Report, told bool) { return t.report, t.told }

// Tell tells what a model can take.
func (t *Told) Tell(r Report) { t.report, t.told = r, true }

// Of is who listens to the call of ctx; nil when nobody does.
func Of(ctx context.Context) *Told {
	t, _ := ctx.Value(key{}).(*Told)
	return t
}
