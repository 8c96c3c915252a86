package stage

import (
	"context"
	"sync"
	"time"
)

// every calls act again and again until ctx is done. The function that it gives
// waits for that end.
func every(ctx context.Context, interval time.Duration, act func()) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				act()
			case <-ctx.Done():
				return
			}
		}
	})
	return wg.Wait
}
