package upstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

// once starts a fleet that asks its upstreams once: what happens later it does not
// know.
func once(t *testing.T, addresses ...string) *upstream.Fleet {
	t.Helper()
	return startWith(t, settings(time.Hour, addresses...))
}

// TestGone calls when one of two replicas has gone since the last round: the other
// answers each call.
func TestGone(t *testing.T) {
	t.Parallel()
	one, two := serve(t, "", 1, "a"), serve(t, "", 2, "a")
	f := once(t, one.Address, two.Address)
	two.Kill()
	eventually(t, "its connection is gone", func() bool { return f.Connected() == 1 })
	for range 100 {
		if y := infer(t, f, "a", 0, 0); len(y) == 0 || y[0] != 1 {
			t.Errorf("got %v", y)
		}
	}
	one.Kill()
	if _, _, err := f.Infer(t.Context(), servertest.Request("a", 0, 0)); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("when both are gone: %v", err)
	}
}

// TestCutCall kills a replica while it runs a call, and closes its connection: the
// call is not run again, and the caller, who is still there, is told to come back.
func TestCutCall(t *testing.T) {
	t.Parallel()
	cuts := map[string]struct {
		cut  func(ran *blocking, f *upstream.Fleet, cancel func())
		kind failure.Kind
	}{
		"the replica dies": {func(ran *blocking, _ *upstream.Fleet, _ func()) { ran.Kill() }, failure.Unavailable},
		"the fleet stops":  {func(_ *blocking, f *upstream.Fleet, _ func()) { _ = f.Part().Stop(context.Background()) }, failure.Unavailable},
		"the caller goes":  {func(_ *blocking, _ *upstream.Fleet, cancel func()) { cancel() }, failure.Cancelled},
	}
	for name, test := range cuts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := block(t, ""), block(t, "")
			f := once(t, one.Address, two.Address)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, _, err := f.Infer(ctx, servertest.Request("a", 1, 2))
				failed <- err
			}()
			select {
			case <-one.running:
				test.cut(one, f, cancel)
			case <-two.running:
				test.cut(two, f, cancel)
			}
			if err := <-failed; failure.KindOf(err) != test.kind {
				t.Errorf("got %s: %v", failure.KindOf(err), err)
			}
			if n := one.begun.Load() + two.begun.Load(); n != 1 {
				t.Errorf("the call ran %d times", n)
			}
		})
	}
}

// refuse is a server that says no to every inference.
type refuse struct {
	inference.GRPCInferenceServiceServer
	asked *atomic.Int64
	err   error
}

// ModelInfer implements inference.GRPCInferenceServiceServer.
func (r refuse) ModelInfer(context.Context, *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	r.asked.Add(1)
	return nil, r.err
}

// TestRefusals are made again once, at another replica, if the first did not begin.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err   error
		calls int64
	}{
		"being unloaded": {failure.New(failure.Unavailable, "model a is being unloaded"), 2},
		"not there":      {failure.New(failure.NotFound, "unknown model a"), 2},
		"busy":           {failure.New(failure.Busy, "full"), 1},
		"bad":            {failure.New(failure.Invalid, "bad"), 1},
		"broken":         {failure.New(failure.Internal, "the model failed"), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			folder := servertest.Repository(t, map[string]string{"a/config.pbtxt": servertest.MapConfig("add")})
			var addresses []string
			for range 3 {
				s := servertest.Start(t, servertest.Options{Folders: []string{folder}, Wrap: func(s *modelserver.Service) inference.GRPCInferenceServiceServer {
					return refuse{s, &asked, test.err}
				}}, adding("add", 1))
				addresses = append(addresses, s.Address)
			}
			_, _, err := once(t, addresses...).Infer(t.Context(), servertest.Request("a", 1, 2))
			if failure.KindOf(err) != failure.KindOf(test.err) || asked.Load() != test.calls {
				t.Errorf("got %v after %d calls, want %d", err, asked.Load(), test.calls)
			}
		})
	}
}

// TestLeastBusy gives calls to the one of two replicas that has nothing to do.
func TestLeastBusy(t *testing.T) {
	t.Parallel()
	slow, fast := block(t, ""), serve(t, "", 1, "a")
	f := once(t, slow.Address, fast.Address)
	failed := make(chan error, 1)
	eventually(t, "the slow one has a call", func() bool {
		done := make(chan error, 1)
		go func() {
			_, _, err := f.Infer(t.Context(), servertest.Request("a", 1, 2))
			done <- err
		}()
		select {
		case <-slow.running:
			go func() { failed <- <-done }()
			return true
		case err := <-done:
			return err != nil
		}
	})
	for range 50 {
		infer(t, f, "a", 0, 0)
	}
	if n := slow.begun.Load(); n != 1 {
		t.Errorf("the busy replica got %d calls, want 1", n)
	}
	close(slow.release)
	if err := <-failed; err != nil {
		t.Error(err)
	}
}
