package pace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"triptych/loadtest/bench/pace"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pace.Wait(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := pace.Wait(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		acts := 0
		if err := pace.Every(ctx, 10*time.Second, func() error { acts++; return nil }); err != nil || acts != 3 {
			t.Errorf("%d acts, error %v", acts, err)
		}
		want := errors.New("it rains")
		if err := pace.Every(t.Context(), time.Second, func() error { return want }); !errors.Is(err, want) {
			t.Errorf("error %v", err)
		}
	})
}
