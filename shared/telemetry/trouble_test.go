package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triptych/shared/telemetry"
)

// What does not work yet is nothing to be warned of, unless it stays so.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&logs, nil))
		var trouble telemetry.Trouble
		fail := func(text string, want int) {
			t.Helper()
			trouble.Failed(t.Context(), logger, "it can't be done now", errors.New(text))
			if got := strings.Count(logs.String(), "level=WARN"); got != want {
				t.Errorf("%d warnings, want %d:\n%s", got, want, &logs)
			}
		}
		fail("not there", 0)
		time.Sleep(14 * time.Second)
		fail("not there", 0)
		time.Sleep(time.Second)
		fail("not there", 1)
		fail("not there", 1)
		fail("broken", 2)
		trouble.Worked()
		fail("broken", 3)
	})
}
