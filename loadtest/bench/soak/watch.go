package soak

import (
	"context"
	"net/http"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/pace"
	"triptych/loadtest/bench/stack"
)

// looks is how often each process is looked at within what is called a minute.
const looks = 60

// fastest bounds how often that is.
const fastest = 100 * time.Millisecond

// look is what a process held at a time.
type look struct {
	at                 time.Time
	memory, goroutines float64
}

// watch looks at all processes of a stack, again and again.
type watch struct {
	stack *stack.Stack
	pause time.Duration
	seen  map[string][]look
}

func newWatch(s *stack.Stack, minute time.Duration) *watch {
	return &watch{stack: s, pause: max(minute/looks, fastest), seen: map[string][]look{}}
}

// until looks until ctx ends, and then once more.
func (w *watch) until(ctx context.Context) {
	client := stack.NewClient()
	defer client.CloseIdleConnections()
	whole := context.WithoutCancel(ctx)
	_ = pace.Every(ctx, w.pause, func() error { // no look is an error
		w.look(whole, client)
		return nil
	})
	w.look(whole, client)
}

// look passes over a process that is away.
func (w *watch) look(ctx context.Context, client *http.Client) {
	for _, service := range w.stack.Services {
		memory, err := service.Server().Memory()
		if err != nil {
			continue
		}
		goroutines, err := service.Scrape(ctx, client, "go_goroutines")
		if err != nil {
			continue
		}
		w.seen[service.Name] = append(w.seen[service.Name], look{time.Now(), float64(memory) / mib, goroutines})
	}
}

const mib = 1 << 20

// median is that of a service within a time, or NaN where it was not seen.
func (w *watch) median(service string, from, to time.Time, number func(look) float64) float64 {
	var values []float64
	for _, l := range w.seen[service] {
		if !l.at.Before(from) && !l.at.After(to) {
			values = append(values, number(l))
		}
	}
	return figure.Median(values...)
}
