package stack_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/loadtest/bench/stack"
	"triptych/loadtest/bench/stack/stacktest"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) {
	if status, is := stacktest.Main(); is {
		os.Exit(status)
	}
	testkit.Main(m)
}

// start runs the four services with a model that needs no file.
func start(t *testing.T) *stack.Stack {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{
		Binaries: stacktest.Binaries(t), Repository: testkit.Path(t, "tools", "bench", "models"),
		Replicas: map[string]int{stack.Preprocess: 2}, Log: t.Output(),
	}, "standin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func TestStack(t *testing.T) {
	s := start(t)
	var names []string
	for _, service := range s.Services {
		names = append(names, service.Name)
	}
	if got := strings.Join(names, ", "); got != "preprocess, preprocess 2, predictor, postprocess, gateway" || s.Service("nobody") != nil || s.Service(stack.Gateway) != s.Gateway {
		t.Errorf("services %s", got)
	}
	memory, err := s.Memory()
	cpu, cerr := s.CPU()
	if err != nil || cerr != nil || memory < 5<<20 || cpu <= 0 {
		t.Errorf("memory %d, CPU %s, errors %v, %v", memory, cpu, err, cerr)
	}
	client := stack.NewClient()
	defer client.CloseIdleConnections()
	for name, least := range map[string]float64{"go_goroutines": 5, "go_gc_duration_seconds": 0, "there_is_no_such": 0} {
		if got, err := s.Gateway.Scrape(t.Context(), client, name); err != nil || got < least {
			t.Errorf("%s is %v, error %v", name, got, err)
		}
	}
}

// What is killed comes back at the same address; what is paused ends all the same.
func TestBadDays(t *testing.T) {
	s := start(t)
	victim := s.Service("preprocess 2")
	address := victim.Address()
	if err := errors.Join(victim.Pause(), victim.Resume(), victim.Kill()); err != nil {
		t.Fatal(err)
	}
	if s.Alive() {
		t.Error("all are alive")
	}
	if _, err := s.Memory(); err == nil {
		t.Error("the memory of what has ended")
	}
	if err := victim.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !s.Alive() || victim.Address() != address || victim.Server().Address != address {
		t.Errorf("it came back at %s, was at %s", victim.Server().Address, address)
	}
	if err := victim.Pause(); err != nil {
		t.Error(err)
	}
}

// A service that does not start says why.
func TestStartSaysWhy(t *testing.T) {
	folder := stacktest.Binaries(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if err := os.WriteFile(filepath.Join(folder, stack.Predictor), []byte("#!/bin/sh\necho it rains\nexit 3\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	_, err = stack.Start(t.Context(), stack.Options{Binaries: folder, Repository: testkit.Path(t, "tools", "bench", "models"), Log: log})
	if err == nil || !strings.Contains(err.Error(), "start predictor: ") || !strings.Contains(err.Error(), "it rains") {
		t.Errorf("error %v", err)
	}
	if err := stack.Built(folder); err != nil {
		t.Error(err)
	}
	if err := stack.Built("/nowhere"); err == nil || !strings.Contains(err.Error(), "make build makes it") {
		t.Errorf("error %v", err)
	}
}
