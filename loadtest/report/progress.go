package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"triptych/loadtest/measure"
)

// How often a terminal's line is written anew, and how often a log gets a line.
const (
	terminalEvery = time.Second
	logEvery      = 10 * time.Second
)

// clearLine goes to the start of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// Progress shows a running test.
type Progress struct {
	out      io.Writer
	terminal bool
}

// NewProgress makes a Progress that writes one line again and again on a
// terminal, and a line now and then elsewhere. What can't be written is not
// missed.
func NewProgress(out io.Writer, terminal bool) *Progress { return &Progress{out, terminal} }

// Watch shows what a recorder has until the function that it gives is called,
// which waits for the last line.
func (p *Progress) Watch(phase string, recorder *measure.Recorder) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { p.loop(phase, recorder, done) })
	return func() {
		close(done)
		wg.Wait()
	}
}

func (p *Progress) loop(phase string, recorder *measure.Recorder, done <-chan struct{}) {
	every := logEvery
	if p.terminal {
		every = terminalEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last measure.Result
	for {
		select {
		case <-ticker.C:
			now := recorder.Result()
			p.show(line(phase, last, now))
			last = now
		case <-done:
			if p.terminal {
				_, _ = io.WriteString(p.out, clearLine)
			}
			return
		}
	}
}

func (p *Progress) show(text string) {
	if p.terminal {
		_, _ = io.WriteString(p.out, clearLine+text)
		return
	}
	_, _ = io.WriteString(p.out, text+"\n")
}

// line has the rate since the last line and the latencies since the start.
func line(phase string, last, now measure.Result) string {
	rate := measure.PerSecond(now.Answered-last.Answered, now.Elapsed-last.Elapsed)
	return fmt.Sprintf("%s %3.0fs  %d ok  %.1f/s  p50 %s  p99 %s  errors %d  in flight %d",
		phase, now.Elapsed.Seconds(), now.Answered, rate, p50(now.Latency), p99(now.Latency), now.Errors, now.InFlight)
}
