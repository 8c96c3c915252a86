package turns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"triptych/loadtest/measure"
)

// Work does item n of a task.
type Work func(n int) error

// Prepare makes ready for a task.
type Prepare func(Task) (Work, Prepared, error)

// Serve is the inside of a side that is written in Go: it takes orders until there
// are no more. What is wrong with a task is told to who gave it.
func Serve(in io.Reader, out io.Writer, prepare Prepare) error {
	orders, replies := json.NewDecoder(in), json.NewEncoder(out)
	s := serving{prepare: prepare}
	for {
		var o order
		switch err := orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read an order: %w", err)
		}
		r, err := s.follow(o)
		if err != nil {
			r = reply{Error: err.Error()}
		}
		if err := replies.Encode(r); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// serving is a side between two orders.
type serving struct {
	prepare Prepare
	work    Work
	callers int
	next    atomic.Int64
}

func (s *serving) follow(o order) (reply, error) {
	if o.Task != nil {
		work, prepared, err := s.prepare(*o.Task)
		s.work, s.callers = work, max(o.Task.Callers, 1)
		return reply{Prepared: &prepared}, err
	}
	if s.work == nil {
		return reply{}, errors.New("a turn without a task")
	}
	turn, err := s.turn(time.Duration(o.Seconds * float64(time.Second)))
	return reply{Turn: &turn}, err
}

func (s *serving) turn(d time.Duration) (Turn, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin, cpu := time.Now(), measure.CPUTime()
	count, err := s.all(begin.Add(d))
	t := Turn{Count: count, Wall: time.Since(begin).Seconds(), CPU: (measure.CPUTime() - cpu).Seconds()}
	runtime.ReadMemStats(&after)
	t.Mallocs, t.Allocated = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return t, err
}

// all has every caller work until the time is over.
func (s *serving) all(end time.Time) (int, error) {
	counts, errs := make([]int, s.callers), make([]error, s.callers)
	var wg sync.WaitGroup
	for i := range s.callers {
		wg.Go(func() { counts[i], errs[i] = s.one(end) })
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, errors.Join(errs...)
}

func (s *serving) one(end time.Time) (count int, err error) {
	for count == 0 || time.Now().Before(end) {
		if err := s.work(int(s.next.Add(1) - 1)); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}
