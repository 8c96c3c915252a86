package jobs

import (
	"triptych/loadtest/bench/server"
)

const mib = 1 << 20

// above is how much more than base a process held at most while f ran, in MiB.
func above(p *server.Process, base int64, f func() error) (float64, error) {
	if err := p.ResetPeak(); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	peak, err := p.Peak()
	return float64(peak-base) / mib, err
}
