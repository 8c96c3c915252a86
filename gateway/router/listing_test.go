package router_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"triptych/gateway/router"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

// TestListing asks for a thousand models that are not there, at once and one after
// another: the disk is read once a second.
func TestListing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var scans atomic.Int64
		broken := errors.New("the disk is gone")
		fails := false
		find := router.NewListing(func() ([]modelserver.Entry, error) {
			scans.Add(1)
			runtime.Gosched()
			if fails {
				return nil, broken
			}
			return []modelserver.Entry{{Name: "a"}, {Name: "b"}, {Name: "c"}}, nil
		})
		ask := func() {
			var all sync.WaitGroup
			for i := range 500 {
				all.Go(func() {
					if _, found, err := find("nobody" + strconv.Itoa(i)); found || err != nil {
						t.Errorf("found %t, %v", found, err)
					}
				})
			}
			all.Wait()
			for range 500 {
				if e, found, err := find("b"); e.Name != "b" || !found || err != nil {
					t.Errorf("got %v, %t, %v", e, found, err)
				}
			}
		}
		for n := int64(1); n <= 3; n++ {
			ask()
			if scans.Load() != n {
				t.Errorf("read the disk %d times, want %d", scans.Load(), n)
			}
			time.Sleep(time.Second)
		}
		fails = true
		for range 3 {
			if _, _, err := find("a"); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
		if scans.Load() != 4 {
			t.Errorf("read the disk %d times, want 4", scans.Load())
		}
	})
}

// TestUnknownModels calls a model that nobody serves while it comes to the
// repository and leaves it.
func TestUnknownModels(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"lost/config.pbtxt": servertest.MapConfig("none")})
	g := newGateway(t, folder, telemetry.Discard())
	kind := func(model string) failure.Kind {
		_, err := g.ModelInfer(t.Context(), &inference.ModelInferRequest{ModelName: model})
		return failure.KindOf(err)
	}
	if kind("lost") != failure.Unavailable || kind("late") != failure.NotFound {
		t.Errorf("got %s and %s", kind("lost"), kind("late"))
	}
	servertest.Write(t, folder, map[string]string{"late/config.pbtxt": servertest.MapConfig("none")})
	eventually(t, "the new model is seen", func() bool { return kind("late") == failure.Unavailable })
	if err := os.RemoveAll(filepath.Join(folder, "lost")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old one is not", func() bool { return kind("lost") == failure.NotFound })
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the repository can't be read", func() bool { return kind("lost") == failure.Unavailable })
}
