package predictor_test

import (
	"runtime"
	"testing"
	"time"

	"triptych/shared/modelserver"
	"triptych/shared/testkit"
)

// While a model has all cores, Go code has half of the processors or fewer; afterwards
// it has all of them again.
func TestYieldProcessors(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	on, _ := backend(t, yielding)
	model := load(t, on, sample(t, 1))
	if err := model.(modelserver.Warmer).WarmUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	least := all
	for begun := time.Now(); time.Since(begun) < 10*time.Second && least > (all+1)/2; {
		w := &way{callers: benchCallers, call: inProcess(t.Context(), model)}
		w.turn(t)
		least = min(least, runtime.GOMAXPROCS(0))
	}
	if least > (all+1)/2 {
		t.Errorf("Go code had %d of %d processors or more", least, all)
	}
	testkit.Eventually(t, 10*time.Second, "Go code has all processors again", func() bool { return runtime.GOMAXPROCS(0) == all })
}
