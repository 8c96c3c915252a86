//go:build chaos

package chaos_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	"triptych/cli/client"
	"triptych/shared/testkit"
)

// within bounds how long anything may take after the last fault.
const within = 60 * time.Second

// house is a running stack with its ledger.
type house struct {
	*stack.Stack
	ledger *ledger.Ledger
	run    *run
}

// open starts a stack for a scenario.
func open(t *testing.T, r *run, o stack.Options) *house {
	t.Helper()
	o.Repositories = append(o.Repositories, spots.Repository(t))
	o.Programs = r.programs
	s := stack.Start(t, o)
	var gateways []string
	for _, g := range s.Gateways {
		gateways = append(gateways, g.HTTP)
	}
	h := &house{Stack: s, ledger: ledger.New(t, gateways...), run: r}
	if len(gateways) == 0 {
		return h // the scenario brings one
	}
	testkit.Eventually(t, within, "the gateway takes jobs", func() bool { return h.ledger.Takes(t.Context()) })
	return h
}

func (h *house) gateway() *stack.Service { return h.Gateways[0] }

// close waits until everything that was accepted has ended, and checks it.
func (h *house) close(t *testing.T) {
	t.Helper()
	h.WaitReady()
	h.ledger.Await(t.Context(), within)
	stored := h.ledger.Check(t.Context(), h.Nodes[0].URL())
	h.ledger.Clean(t.Context(), h.Nodes[0].URL(), within)
	h.Settled()
	h.run.add(stored, h.ledger)
	for _, service := range append(h.All(), h.Added...) { // of their last lives
		h.run.again += int(service.Metric("triptych_jobs_redelivered_total"))
	}
}

// load is clients that deliver jobs until end is called.
type load struct {
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// The clients of a load, and the items of each of their jobs.
const (
	clients  = 2
	jobItems = 24
)

// begin has clients deliver jobs; each waits for its last job before the next but
// one, so that there is always work, and never more than is needed.
func (h *house) begin(t *testing.T, model string) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel}
	for n := range clients {
		l.loops.Go(func() {
			last := ""
			for first := n * 5000; ctx.Err() == nil; first += jobItems {
				id := h.deliver(t, ledger.Job{Model: model, Items: ledger.Pictures(first, jobItems)})
				h.ledger.AwaitOne(ctx, last)
				last = id
			}
		})
	}
	return l
}

// end lets the clients bring to an end what they have begun to deliver: one that
// goes away would not know what became of its job.
func (l *load) end() {
	l.cancel()
	l.loops.Wait()
}

// deliver brings a job in, however often it has to be sent.
func (h *house) deliver(t *testing.T, job ledger.Job) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	id := h.ledger.Deliver(ctx, job)
	if id == "" {
		t.Errorf("a job is not accepted within %s: %v", within, h.ledger.Refused())
	}
	return id
}

// progress waits until so many more verdicts are stored.
func (h *house) progress(t *testing.T, more uint64) {
	t.Helper()
	have := func() uint64 {
		for _, node := range h.Nodes {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			n, err := ledger.Verdicts(ctx, node.URL())
			cancel()
			if err == nil {
				return n
			}
		}
		return 0
	}
	want := have() + more
	testkit.Eventually(t, within, "more verdicts", func() bool { return have() >= want })
}

// classify asks the gateway by the sync road, which has nothing to do with NATS.
func classify(t *testing.T, gateway *stack.Service, model string, picture []byte) client.Answer {
	t.Helper()
	c, err := client.New("http://"+gateway.HTTP, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := c.Classify(t.Context(), model, 1, picture)
	if err != nil {
		t.Errorf("the sync road: %v", err)
	}
	return answer
}

// syncRoad sees that the sync road works.
func syncRoad(t *testing.T, gateway *stack.Service) {
	t.Helper()
	picture, err := spots.Picture(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	answer := classify(t, gateway, spots.Model, picture)
	if len(answer.Results) != 1 || answer.Results[0].Predictions[0].Class != spots.Of(1).Class {
		t.Errorf("the sync road answers %+v", answer.Results)
	}
}

// photographs are items for the real model, with the labels that it gives by the
// sync road.
func photographs(t *testing.T, gateway *stack.Service) []ledger.Item {
	t.Helper()
	var items []ledger.Item
	for _, name := range []string{"astronaut.webp", "cat.jpg", "coffee.jpg", "rocket.jpg", "camera.png"} {
		file, err := os.ReadFile(testkit.Path(t, "testdata", "images", name))
		if err != nil {
			t.Fatal(err)
		}
		answer := classify(t, gateway, "classify", file)
		if t.Failed() {
			t.FailNow()
		}
		items = append(items, ledger.Item{Name: name, File: file, Label: answer.Results[0].Predictions[0].Label})
	}
	return items
}

// dice give the same numbers in each run.
func dice() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) } //nolint:gosec // not for secrets

// pause waits for a time between two bounds, as a fault that comes by chance does.
func pause(r *rand.Rand, least, most time.Duration) {
	time.Sleep(least + time.Duration(r.Int64N(int64(most-least))))
}
