package turns_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"triptych/loadtest/bench/turns"
	"triptych/shared/testkit"
)

// sideVariable makes this test's binary a side.
const sideVariable = "BENCH_TEST_SIDE"

func TestMain(m *testing.M) {
	if os.Getenv(sideVariable) != "" {
		if err := turns.Serve(os.Stdin, os.Stdout, prepare); err != nil {
			os.Exit(1)
		}
		return
	}
	testkit.Main(m)
}

// prepare knows one kind of work: a millisecond for each item but the seventh.
func prepare(task turns.Task) (turns.Work, turns.Prepared, error) {
	if task.Kind != turns.Resize {
		return nil, turns.Prepared{}, errors.New("no such work")
	}
	return func(n int) error {
		if n == task.Size {
			return errors.New("an item is bad")
		}
		time.Sleep(time.Millisecond)
		return nil
	}, turns.Prepared{Sums: task.Files, Version: "1"}, nil
}

func start(t *testing.T) *turns.Side {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := turns.Start(t.Context(), "it", []string{self}, []string{sideVariable + "=1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTurns(t *testing.T) {
	s := start(t)
	p, err := s.Prepare(turns.Task{Kind: turns.Resize, Files: []string{"a"}, Size: -1, Callers: 3})
	if err != nil || p.Version != "1" || len(p.Sums) != 1 {
		t.Errorf("prepared %v, error %v", p, err)
	}
	for range 2 {
		turn, err := s.Turn(20 * time.Millisecond)
		if err != nil || turn.Count < 3 || turn.Count > 60 || turn.Wall < 0.02 || turn.CPU <= 0 || turn.Mallocs == 0 || turn.Each() <= 0 {
			t.Errorf("turn %+v, error %v", turn, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Turn(time.Millisecond); err == nil {
		t.Error("a turn after the end")
	}
}

func TestWhatIsWrongIsTold(t *testing.T) {
	s := start(t)
	if _, err := s.Turn(time.Millisecond); err == nil || !strings.Contains(err.Error(), "it: a turn without a task") {
		t.Errorf("without a task: %v", err)
	}
	if _, err := s.Prepare(turns.Task{Kind: turns.Image}); err == nil || !strings.Contains(err.Error(), "it: no such work") {
		t.Errorf("unknown work: %v", err)
	}
	if _, err := s.Prepare(turns.Task{Kind: turns.Resize, Size: 2}); err != nil {
		t.Errorf("after that: %v", err)
	}
	if _, err := s.Turn(time.Second); err == nil || !strings.Contains(err.Error(), "it: an item is bad") {
		t.Errorf("a bad item: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSidesThatAreNone(t *testing.T) {
	if _, err := turns.Start(t.Context(), "it", []string{"/nowhere/side"}, nil, io.Discard); err == nil {
		t.Error("started what is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := turns.Start(ctx, "it", []string{"sleep", "60"}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Prepare(turns.Task{}); err == nil {
		t.Error("what was killed has an answer")
	}
	if err := s.Close(); err == nil {
		t.Error("the kill is no error")
	}
}
