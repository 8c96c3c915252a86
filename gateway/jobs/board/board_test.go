package board_test

import (
	"testing"

	"triptych/gateway/jobs/board"
	"triptych/shared/failure"
	"triptych/shared/jobs"
	"triptych/shared/telemetry"
)

func TestNothingIsKnownBeforeRun(t *testing.T) {
	b := board.New(jobs.New(nil), telemetry.Discard().Logger)
	if _, err := b.Job("j"); failure.KindOf(err) != failure.Unavailable || failure.KindOf(b.Ready()) != failure.Unavailable {
		t.Errorf("got %v", err)
	}
}
