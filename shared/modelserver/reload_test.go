package modelserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// switchable loads models until it is told to fail.
type switchable struct {
	fail   atomic.Pointer[string]
	loads  atomic.Int64
	closes atomic.Int64
}

func (s *switchable) backend() servertest.Backend {
	return loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		if why := s.fail.Load(); why != nil {
			return nil, failure.New(failure.Invalid, "%s", *why)
		}
		s.loads.Add(1)
		m := servertest.Map(func(x float32) float32 { return x * float32(spec.Version) })
		m.OnClose = func() error { s.closes.Add(1); return nil }
		return m, nil
	})
}

// REP-03 for versions: a broken one keeps no good one from serving, and none that was
// removed from going.
func TestOneBrokenVersionStopsNoOther(t *testing.T) {
	t.Parallel()
	all := doubleConfig + "version_policy { all {} }"
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": all, "m/1/": "", "m/2/": ""})
	r := newRegistry(t, folder, loading(func(_ context.Context, spec modelserver.Spec) (modelserver.Model, error) {
		if spec.Version == 3 {
			return nil, failure.New(failure.Invalid, "cut")
		}
		return servertest.Map(nil), nil
	}))
	step := func(what string, want ...string) {
		t.Helper()
		if err := r.Load(t.Context(), "m"); failure.KindOf(err) != failure.Invalid {
			t.Errorf("%s: load gives %v", what, err)
		}
		if diff := cmp.Diff(want, index(r)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if err := r.Ready(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	servertest.Write(t, folder, map[string]string{"m/3/": "", "m/4/": ""})
	step("a good one beside a broken one", "m/1 READY", "m/2 READY", "m/3 UNAVAILABLE cut", "m/4 READY")
	for _, gone := range []string{"2", "4"} {
		if err := os.RemoveAll(filepath.Join(folder, "m", gone)); err != nil {
			t.Fatal(err)
		}
	}
	step("what is removed goes, though another is broken", "m/1 READY", "m/3 UNAVAILABLE cut")
	if err := os.RemoveAll(filepath.Join(folder, "m", "1")); err != nil {
		t.Fatal(err)
	}
	step("the last that serves stays", "m/1 READY", "m/3 UNAVAILABLE cut")
}

// REP-01, REP-02: a reload that fails leaves the good version, and fails again the
// same way.
func TestReloadThatFails(t *testing.T) {
	t.Parallel()
	broken := "model.bin is truncated"
	tests := map[string]struct {
		change map[string]string
		fail   bool
		want   []string
	}{
		"same version": {change: map[string]string{"m/1/model.bin": "cut"}, fail: true, want: []string{"m/1 READY the last load failed: model.bin is truncated"}},
		"new version":  {map[string]string{"m/2/": ""}, true, []string{"m/1 READY", "m/2 UNAVAILABLE model.bin is truncated"}},
		"bad config":   {map[string]string{"m/config.pbtxt": "backend: 7"}, false, []string{"m/1 READY the last load failed: m/config.pbtxt:1:10: invalid value for string type: 7"}},
		"no version": {
			map[string]string{"m/config.pbtxt": doubleConfig + "version_policy { specific {} }"},
			false,
			[]string{`m/1 READY the last load failed: the version_policy of model "m" picks no version`},
		},
		"one of two": {
			map[string]string{"m/config.pbtxt": doubleConfig + "version_policy { specific { versions: [ 1, 5 ] } }"},
			false,
			[]string{"m/1 READY", `m/5 UNAVAILABLE version 5 of model "m" is not in its folder`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
			b := &switchable{}
			r := newRegistry(t, folder, b.backend())
			s := newService(r)
			servertest.Write(t, folder, test.change)
			if test.fail {
				b.fail.Store(&broken)
			}
			var first string
			for i := range 2 { // the second load of what is broken fails like the first
				err := r.Load(t.Context(), "m")
				if failure.KindOf(err) != failure.Invalid {
					t.Fatalf("load %d gives %v", i, err)
				}
				if i == 0 {
					first = failure.Message(err)
				} else if first != failure.Message(err) {
					t.Errorf("first %q, then %q", first, failure.Message(err))
				}
				if diff := cmp.Diff(test.want, index(r)); diff != "" {
					t.Error(diff)
				}
				if r.Ready() != nil || r.EverReady() != nil {
					t.Errorf("a reload that failed made it unready: %v, %v", r.Ready(), r.EverReady())
				}
				resp, err := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2))
				if err != nil || resp.GetModelVersion() != "1" {
					t.Errorf("infer gives %v, %v", resp, err)
				}
			}
			if loads, closes := b.loads.Load(), b.closes.Load(); loads != closes+1 {
				t.Errorf("%d loaded, %d closed", loads, closes)
			}
			// Mended, it loads, and nothing of the failure is left.
			b.fail.Store(nil)
			servertest.Write(t, folder, map[string]string{"m/config.pbtxt": doubleConfig, "m/2/": ""})
			if err := r.Load(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"m/2 READY"}, index(r)); diff != "" {
				t.Error(diff)
			}
			if loads, closes := b.loads.Load(), b.closes.Load(); loads != closes+1 {
				t.Errorf("%d loaded, %d closed", loads, closes)
			}
		})
	}
}

func TestBrokenStaysBroken(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	broken := "model.bin is empty"
	b := &switchable{}
	b.fail.Store(&broken)
	r := newRegistry(t, folder, b.backend())
	for range 2 {
		if err := r.Load(t.Context(), "m"); failure.Message(err) != broken {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff([]string{"m/1 UNAVAILABLE model.bin is empty"}, index(r)); diff != "" {
			t.Error(diff)
		}
		if r.Ready() == nil {
			t.Error("ready")
		}
	}
	// Given up on purpose, it is no longer promised.
	if err := r.Unload(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m/1 UNAVAILABLE unloaded"}, index(r)); diff != "" {
		t.Error(diff)
	}
	if r.Ready() != nil {
		t.Error(r.Ready())
	}
}

func TestRefusedThenUnloaded(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig + "version_policy { specific {} }"})
	r := newRegistry(t, folder, double)
	if r.Ready() == nil {
		t.Error("ready")
	}
	_, err := newService(r).ModelInfer(t.Context(), servertest.Request("m", 1, 2))
	if want := `model "m" is not ready: the version_policy of model "m" picks no version`; failure.Message(err) != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := r.Unload(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if r.Ready() != nil {
		t.Error(r.Ready())
	}
	if diff := cmp.Diff([]string{"m/ UNAVAILABLE unloaded"}, index(r)); diff != "" {
		t.Error(diff)
	}
}

func TestUnload(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "n/config.pbtxt": doubleConfig})
	b := &switchable{}
	r := newRegistry(t, folder, b.backend())
	for range 2 { // the second does nothing
		if err := r.Unload(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if b.closes.Load() != 1 {
			t.Errorf("closed %d times", b.closes.Load())
		}
		if diff := cmp.Diff([]string{"m/1 UNAVAILABLE unloaded", "n/1 READY"}, index(r)); diff != "" {
			t.Error(diff)
		}
		if r.Ready() != nil {
			t.Error(r.Ready())
		}
	}
	_, err := newService(r).ModelInfer(t.Context(), servertest.Request("m", 1, 2))
	if failure.KindOf(err) != failure.Unavailable || failure.Message(err) != `model "m" is not ready: unloaded` {
		t.Errorf("got %v", err)
	}
	if err := r.Unload(t.Context(), "unknown"); failure.KindOf(err) != failure.NotFound {
		t.Errorf("got %v", err)
	}
	if err := r.Load(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m/1 READY", "n/1 READY"}, index(r)); diff != "" {
		t.Error(diff)
	}
}

// held is a model whose calls wait until they are let go.
func held(letGo <-chan struct{}, closed *atomic.Int64, closeErr error) servertest.Backend {
	return loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		m := servertest.Map(func(x float32) float32 {
			<-letGo
			if closed.Load() > 0 {
				return -1
			}
			return x
		})
		m.OnClose = func() error { closed.Add(1); return closeErr }
		return m, nil
	})
}

func TestUnloadWaits(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		var closed atomic.Int64
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, held(letGo, &closed, errors.New("close failed")))
		if err := r.LoadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := newService(r)
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				if resp, err := s.ModelInfer(context.Background(), servertest.Request("m", 1, 2)); err != nil || servertest.Answer(resp, "y")[1] != 2 {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		}
		synctest.Wait()
		// The first gives up waiting; the model goes on until its last call is over.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.Unload(ctx, "m")
		if failure.KindOf(err) != failure.Deadline || failure.Message(err) != `model "m" version 1 still has calls running` {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{"m/1 UNLOADING unloaded"}, index(r)); diff != "" {
			t.Error(diff)
		}
		if _, err := s.ModelInfer(t.Context(), servertest.Request("m", 1, 2)); failure.KindOf(err) != failure.Unavailable {
			t.Errorf("a new call gives %v", err)
		}
		if closed.Load() != 0 {
			t.Error("closed under its calls")
		}
		close(letGo)
		calls.Wait()
		if closed.Load() != 1 {
			t.Errorf("closed %d times", closed.Load())
		}
		if diff := cmp.Diff([]string{"m/1 UNAVAILABLE unloaded"}, index(r)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnloadTellsOfClose(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		var closed atomic.Int64
		r := servertest.NewRegistry(t, telemetry.Discard(), []string{folder}, held(letGo, &closed, failure.New(failure.Internal, "close failed")))
		if err := r.LoadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		var call, unload sync.WaitGroup
		call.Go(func() {
			if _, err := newService(r).ModelInfer(context.Background(), servertest.Request("m", 1, 2)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		unload.Go(func() {
			if err := r.Unload(context.Background(), "m"); failure.Message(err) != "close failed" {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		if closed.Load() != 0 {
			t.Error("closed under its call")
		}
		close(letGo)
		unload.Wait()
		call.Wait()
		if closed.Load() != 1 {
			t.Errorf("closed %d times", closed.Load())
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "n/config.pbtxt": doubleConfig})
	b := &switchable{}
	r := newRegistry(t, folder, b.backend())
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if b.closes.Load() != 2 {
		t.Errorf("%d closed", b.closes.Load())
	}
	if err := r.Load(t.Context(), "m"); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a load after the end gives %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(over); err != nil {
		t.Error(err)
	}
}

func TestClosePanics(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig})
	r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		m := servertest.Map(nil)
		m.OnClose = func() error { panic("no") }
		return m, nil
	}))
	if err := r.Unload(t.Context(), "m"); failure.Message(err) != "the model broke while it was closed" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"m/1 UNAVAILABLE unloaded"}, index(r)); diff != "" {
		t.Error(diff)
	}
}

// TestSwap is REP-07: 32 callers against loads and unloads (run it with -race): no model
// is used after it was closed, each is closed once, and while the model is only
// loaded anew no call fails and readiness never flips.
func TestSwap(t *testing.T) {
	t.Parallel()
	for name, unloads := range map[string]bool{"reloads": false, "loads and unloads": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := servertest.Repository(t, map[string]string{"m/config.pbtxt": doubleConfig, "m/1/": ""})
			var faults atomic.Int64
			r := newRegistry(t, folder, loading(func(context.Context, modelserver.Spec) (modelserver.Model, error) {
				closed := false // a race when it is used after Close
				m := servertest.Map(func(x float32) float32 {
					if closed {
						faults.Add(1)
					}
					return x + 1
				})
				m.OnClose = func() error {
					if closed {
						faults.Add(1)
					}
					closed = true
					return nil
				}
				return m, nil
			}))
			s := newService(r)
			stop := make(chan struct{})
			var calls sync.WaitGroup
			var answered atomic.Int64
			for i := range 32 {
				calls.Go(func() {
					for n := float32(i); ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						if err := callOnce(t.Context(), s, n); err == nil {
							answered.Add(1)
						} else if !unloads || failure.KindOf(err) != failure.Unavailable {
							t.Error(err)
							return
						}
						ready, err := s.ModelReady(t.Context(), &inference.ModelReadyRequest{Name: "m"})
						if err != nil || (!unloads && (!ready.GetReady() || r.Ready() != nil)) {
							t.Errorf("readiness flipped: %v, %v, %v", ready, err, r.Ready())
							return
						}
					}
				})
			}
			for n := 0; (n < 50 || answered.Load() < 500) && !t.Failed(); n++ {
				servertest.Write(t, folder, map[string]string{"m/1/model.bin": strconv.Itoa(n)})
				if unloads && n%2 == 1 {
					if err := r.Unload(t.Context(), "m"); err != nil {
						t.Error(err)
					}
				} else if err := r.Load(t.Context(), "m"); err != nil {
					t.Error(err)
				}
			}
			close(stop)
			calls.Wait()
			if faults.Load() > 0 || answered.Load() == 0 {
				t.Errorf("%d faults, %d answers", faults.Load(), answered.Load())
			}
		})
	}
}

func callOnce(ctx context.Context, s *modelserver.Service, n float32) error {
	resp, err := s.ModelInfer(ctx, servertest.Request("m", n, -n))
	if err != nil {
		return err
	}
	if y := servertest.Answer(resp, "y"); y[0] != n+1 || y[1] != 1-n {
		return fmt.Errorf("asked %g, answered %v", n, y)
	}
	return nil
}
