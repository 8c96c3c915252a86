package e2e_test

import (
	"sync"
	"testing"
)

// callers is how many a crowd has.
const callers = 8

// crowd calls from several callers at once, each one time after the other, until the
// test ends.
func crowd(t *testing.T, call func()) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					call()
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		all.Wait()
	})
}
