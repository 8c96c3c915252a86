package limit_test

import (
	"fmt"
	"testing"
	"time"

	"triptych/gateway/admission/limit"
)

func TestTry(t *testing.T) {
	for name, s := range map[string]func() service{
		"slots 2 x 4ms":       func() service { return &slots{n: 2, takes: 4 * time.Millisecond, noise: .3} },
		"slots 16 x 30ms":     func() service { return &slots{n: 16, takes: 30 * time.Millisecond, noise: .3} },
		"slots 40 x 30ms":     func() service { return &slots{n: 40, takes: 30 * time.Millisecond, noise: .3} },
		"slots 40 x 30ms n.8": func() service { return &slots{n: 40, takes: 30 * time.Millisecond, noise: .8} },
		"batch 16: 5+.15": func() service {
			return &batches{most: 16, instances: 1, fixed: 5 * time.Millisecond, each: 150 * time.Microsecond, noise: .1}
		},
		"batch 64: 20+.15": func() service {
			return &batches{most: 64, instances: 1, fixed: 20 * time.Millisecond, each: 150 * time.Microsecond, noise: .1}
		},
		"batch 64x2: 20+1": func() service {
			return &batches{most: 64, instances: 2, fixed: 20 * time.Millisecond, each: 1 * time.Millisecond, noise: .1}
		},
	} {
		for _, seed := range []int{8, 32, 256} {
			l := limit.New(limit.Config{Initial: seed, Min: 4, Max: 512})
			w := newWorld(l, s(), 1<<30)
			line := ""
			for range 4 {
				w.run(5 * time.Second)
				line += fmt.Sprintf(" %.0f", l.Centre())
			}
			f := w.run(20 * time.Second)
			wf := newWorld(limit.New(limit.Config{Fixed: 1000}), s(), 1<<30).run(20 * time.Second)
			t.Logf("%-20s from %d:%s -> limit %.0f, %.0f/s of %.0f/s, %s", name, seed, line, f.limit, f.rate, wf.rate, f.latency.Round(time.Millisecond/10))
		}
	}
}
