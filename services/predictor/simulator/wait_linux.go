package simulator

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"triptych/shared/failure"
)

// wakeUp is how long it takes from the ring of a clock until a goroutine that
// waits for it runs, on a virtual machine that is idle. The clock is set that
// much early; who is awake before the time yields until it has come.
const wakeUp = 60 * time.Microsecond

// clock is a waiter that is late by tens of microseconds. On an idle machine Go
// waits for its own timers in whole milliseconds, which is much of what a batch
// takes. A timer of the kernel (timerfd), read through Go's network poller, is an
// event like a packet: it wakes at once, and no thread waits for it, as one would
// in clock_nanosleep. Go's timer is set as well, as the deadline of the read: it is
// the one that is on time when all cores are busy and look at events last.
//
// Measured on 2 cores of a virtual machine, lateness in microseconds, median and
// 90 of 100, idle and then with two busy goroutines: Go's timer 620, 1051 and 6, 12;
// the last 2 ms in clock_nanosleep 101, 157 and 103, 152; the kernel's timer alone
// 103, 145 and 765, 2807; this 26, 87 and 5, 16.
type clock struct {
	file *os.File
	fd   int
}

func newWaiter() (waiter, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, failure.Wrap(err, failure.Internal, "the system gives no timer")
	}
	return &clock{file: os.NewFile(uintptr(fd), "timer"), fd: fd}, nil
}

func (c *clock) until(ctx context.Context, end time.Time) error {
	if err := c.sleep(ctx, end.Add(-wakeUp)); err != nil {
		return err
	}
	if err := failure.OfContext(ctx); err != nil {
		return err
	}
	for time.Now().Before(end) {
		runtime.Gosched()
	}
	return nil
}

// sleep returns at that time, or when the context ends.
func (c *clock) sleep(ctx context.Context, end time.Time) error {
	left := time.Until(end)
	if left <= 0 {
		return nil
	}
	if err := c.file.SetReadDeadline(end); err != nil {
		return broken(err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.file.SetReadDeadline(time.Unix(1, 0)) // long ago: the read ends
	})
	err := c.ring(left)
	if !stop() {
		<-interrupted // else it would end the next read
	}
	return err
}

// ring reads the timer when it has run out, or until the file's deadline.
func (c *clock) ring(after time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	if err := unix.TimerfdSettime(c.fd, 0, &spec, nil); err != nil {
		return broken(err)
	}
	var rings [8]byte
	if _, err := c.file.Read(rings[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return broken(err)
	}
	return nil
}

func broken(err error) error {
	return failure.Wrap(err, failure.Internal, "the timer of the simulated accelerator is broken")
}

func (c *clock) close() { _ = c.file.Close() }
