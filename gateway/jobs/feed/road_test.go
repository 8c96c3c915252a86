package feed_test

import (
	"fmt"
	"testing"

	"triptych/shared/telemetry"
)

// Jobs of one model that end while others of it begin: what the last of those that
// ended leaves behind is not what the next is waiting in.
func TestJobsThatFollowEachOther(t *testing.T) {
	store := newSystem(t).store()
	serve(t, store, &models{})
	newGateway(t, store, quick(), telemetry.Discard())
	const callers, each = 4, 60
	t.Run("callers", func(t *testing.T) {
		for caller := range callers {
			t.Run(fmt.Sprint(caller), func(t *testing.T) {
				t.Parallel()
				for n := range each {
					id := fmt.Sprintf("j-%d-%d", caller, n)
					accept(t, store, id, 2)
					ended(t, store, id)
				}
			})
		}
	})
}
