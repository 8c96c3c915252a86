//go:build chaos

package chaos_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"triptych/cli/chaos/ledger"
	"triptych/cli/chaos/spots"
	"triptych/cli/chaos/stack"
	"triptych/cli/e2e/process"
	"triptych/gateway"
	"triptych/shared/stage"
	"triptych/shared/testkit"
)

// clock has the gateway's time of day jump an hour ahead while jobs run, and two
// back. The gateway runs in the test's own process: that is how its clock can be
// changed. Deadlines are by the time of day, and what is late for that clock may
// expire; nobody else notices.
func clock(t *testing.T, r *run) {
	h := open(t, r, stack.Options{Gateways: -1})
	var ahead atomic.Int64
	address := inProcess(t, h.Stack, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	h.ledger = ledger.New(t, address)
	testkit.Eventually(t, within, "the gateway takes jobs", func() bool { return h.ledger.Takes(t.Context()) })
	l := h.begin(t, spots.Slow)
	for n, jump := range []time.Duration{time.Hour, -time.Hour} {
		late := ledger.Pictures(3000+1000*n, lateItems)
		for i := range late {
			late[i].MayExpire = true
		}
		h.deliver(t, ledger.Job{Model: spots.Slow, Items: late, Query: "priority=low&deadline=30m"})
		h.deliver(t, ledger.Job{Model: spots.Slow, Items: ledger.Pictures(3500+1000*n, jobItems), Query: "priority=low&deadline=5h"})
		h.progress(t, 5)
		ahead.Store(int64(jump))
		r.killed()
		h.progress(t, 3*jobItems)
	}
	l.end()
	h.close(t)
	if r.expired == 0 {
		t.Error("nothing was late for a clock that is an hour ahead")
	}
}

// lateItems is more than is done in the moment before the clock jumps.
const lateItems = 400

// inProcess runs a gateway with a clock for deadlines, and gives its HTTP address.
func inProcess(t *testing.T, s *stack.Stack, now func() time.Time) string {
	t.Helper()
	common, cfg := stage.DefaultConfig(), gateway.DefaultConfig()
	common.Repository = s.Repositories()
	common.GRPCAddress, common.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	common.Stream.URL = s.Nodes[0].URL()
	cfg.Front.Address = process.Address(t)
	cfg.Upstreams.Addresses = s.Upstreams()
	cfg.Jobs.Feed.Now = now
	ctx, cancel := context.WithCancel(context.Background())
	g, err := gateway.New(ctx, common, cfg, io.Discard)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, func() {}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	return cfg.Front.Address
}
