//go:build chaos

package chaos_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/link"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	"triptych/cli/e2e/process"
	"triptych/shared/testkit"
)

func killWorkers(t *testing.T, r *run) {
	const kills = 10
	h := open(t, r, stack.Options{})
	h.withoutPredictor(t)
	l := h.begin(t, spots.Slow)
	chance := dice()
	killed := map[string]int{}
	for range kills {
		h.progress(t, 1)
		name := stack.Workers()[chance.IntN(len(stack.Workers()))]
		pause(chance, 0, 500*time.Millisecond)
		h.Workers[name].Kill()
		killed[name]++
		r.killed()
		pause(chance, 0, 300*time.Millisecond)
		h.Workers[name].Start()
	}
	l.end()
	r.note("killed %v", killed)
	h.close(t)
}

// withoutPredictor sends a job while the gateway knows that nobody can run it: it is
// accepted all the same.
func (h *house) withoutPredictor(t *testing.T) {
	t.Helper()
	predictor := h.Workers["predictor"]
	predictor.Kill()
	testkit.Eventually(t, within, "the gateway knows that the predictor is away", func() bool {
		return process.Status("http://"+h.gateway().HTTP+"/v2/models/"+spots.Model+"/ready") == http.StatusServiceUnavailable
	})
	if reply := h.ledger.Send(t.Context(), 0, ledger.Job{Model: spots.Model, Items: ledger.Pictures(9000, jobItems)}); reply.Status != http.StatusAccepted {
		t.Errorf("a job that nobody can run now is answered %d: %s", reply.Status, reply.Body)
	}
	predictor.Start()
}

// killNATS kills the server in the moment in which it has stored a page of a job and
// nobody knows yet, and at random moments later. It comes back to its directory.
func killNATS(t *testing.T, r *run) {
	h := open(t, r, stack.Options{})
	server := h.Nodes[0]
	trap := link.NewTrap("triptych.input.", server.Kill)
	h.gateway().NATS.Set(trap)
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		h.deliver(t, ledger.Job{Model: spots.Model, Items: ledger.Pictures(100, jobItems)})
	}()
	<-trap.Sprung()
	r.killed()
	server.Start()
	server.WaitReady()
	<-accepted
	l := h.begin(t, spots.Slow)
	chance := dice()
	for range 2 {
		h.progress(t, jobItems)
		pause(chance, 0, 300*time.Millisecond)
		server.Kill()
		r.killed()
		pause(chance, 0, time.Second)
		server.Start()
		server.WaitReady()
	}
	h.progress(t, jobItems)
	l.end()
	h.close(t)
}

// killGateway kills the gateway when NATS has acknowledged, in turn, a page of a job,
// its idempotency key and its record: the client hears of none of it, and asks
// again. However far it had come, there is one job for each key.
func killGateway(t *testing.T, r *run) {
	h := open(t, r, stack.Options{})
	gateway := h.gateway()
	moments := []string{"triptych.input.", "$KV.triptych.key.", "$KV.triptych.job."}
	for i, moment := range moments {
		trap := link.NewTrap(moment, gateway.Kill)
		gateway.NATS.Set(trap)
		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			<-trap.Sprung()
			gateway.NATS.Set(nil)
			r.killed()
			gateway.Start()
		}()
		job := ledger.Job{Model: spots.Model, Items: ledger.Pictures(1000*i, jobItems), Key: "once-" + strconv.Itoa(i)}
		id := h.deliver(t, job)
		<-restarted
		if again := h.deliver(t, job); again != id {
			t.Errorf("killed at %s: the same key gives job %s, then %s", moment, id, again)
		}
	}
	h.close(t)
	if r.jobs != len(moments) {
		t.Errorf("%d keys gave %d jobs", len(moments), r.jobs)
	}
}

// redelivery kills a worker when the verdict of an item is stored, before it can
// acknowledge its task: the task comes again, of an item that is done.
func redelivery(t *testing.T, r *run) {
	h := open(t, r, stack.Options{})
	worker := h.Workers["postprocess"]
	l := h.begin(t, spots.Model)
	for range 3 {
		trap := link.NewTrap("triptych.verdict.", worker.Kill)
		worker.NATS.Set(trap)
		<-trap.Sprung()
		worker.NATS.Set(nil)
		r.killed()
		worker.Start()
		testkit.Eventually(t, within, "the worker is ready", worker.Ready)
		h.progress(t, jobItems)
	}
	l.end()
	h.close(t)
}

// twoGateways has two gateways take jobs, of which one feeds; each is killed in turn.
func twoGateways(t *testing.T, r *run) {
	h := open(t, r, stack.Options{Gateways: 2})
	l := h.begin(t, spots.Slow)
	for _, gateway := range h.Gateways {
		h.progress(t, jobItems)
		gateway.Kill()
		r.killed()
		h.progress(t, 3*jobItems) // the other has taken over
		gateway.Start()
		testkit.Eventually(t, within, "the gateway is back", gateway.Ready)
	}
	l.end()
	h.close(t)
}
