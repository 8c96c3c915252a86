package modelserver_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/telemetry"
	"triptych/shared/testkit/servertest"
)

const (
	every  = 10 * time.Second
	settle = 2 * time.Second
)

// polled is a registry whose folder is followed, in a bubble: its models have the
// contents of their file and are broken when that begins with "bad" or is absent.
type polled struct {
	*modelserver.Registry
	*modelserver.Service
	t      *testing.T
	folder string
	loads  map[string]int // by model and version
	logs   *logged
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(line string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), line)
}

func poll(t *testing.T, files map[string]string, test func(p *polled)) {
	t.Helper()
	t.Parallel()
	folder := servertest.Repository(t, files)
	synctest.Test(t, func(t *testing.T) {
		p := &polled{t: t, folder: folder, loads: map[string]int{}, logs: &logged{}}
		tel, err := telemetry.New(t.Context(), "test", telemetry.DefaultConfig(), p.logs)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		p.Registry = servertest.NewRegistry(t, tel, []string{folder}, loading(func(ctx context.Context, spec modelserver.Spec) (modelserver.Model, error) {
			mu.Lock()
			p.loads[spec.Name()]++
			mu.Unlock()
			data, err := os.ReadFile(filepath.Join(spec.VersionDirectory(), "model.bin"))
			if err != nil {
				return nil, failure.New(failure.Invalid, "model.bin is missing")
			}
			text := string(data)
			if strings.HasPrefix(text, "hangs") {
				<-ctx.Done()
				return nil, failure.OfContext(ctx)
			}
			if strings.HasPrefix(text, "bad") {
				return nil, failure.New(failure.Invalid, "%s", text)
			}
			return servertest.Map(func(float32) float32 { return float32(len(text)) }), nil
		}))
		p.Service = newService(p.Registry)
		if err := p.LoadAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); p.Poll(ctx, every, settle) }()
		synctest.Wait()
		test(p)
		cancel()
		<-done
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (p *polled) write(files map[string]string) {
	p.t.Helper()
	servertest.Write(p.t, p.folder, files)
}

// polls lets two polls pass, in which a change must have been acted on.
func (p *polled) polls() {
	time.Sleep(2 * every)
	synctest.Wait()
}

func (p *polled) want(lines ...string) {
	p.t.Helper()
	if diff := cmp.Diff(lines, index(p.Registry)); diff != "" {
		p.t.Error(diff)
	}
}

// answers is what the model answers: the length of its file, or 0.
func (p *polled) answers(model string) float32 {
	resp, err := p.ModelInfer(p.t.Context(), servertest.Request(model, 1, 2))
	if err != nil {
		return 0
	}
	return servertest.Answer(resp, "y")[0]
}

// REP-03: after a load error every change is still noticed, within two polls, and
// the error is logged once per change.
func TestPollGoesOn(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig, "a/1/model.bin": "x"}, func(p *polled) {
		p.want("a/1 READY")
		p.write(map[string]string{"b/config.pbtxt": doubleConfig, "b/1/model.bin": "bad graph"})
		p.polls()
		p.want("a/1 READY", "b/1 UNAVAILABLE bad graph")
		for range 5 {
			p.polls()
		}
		if n := p.logs.count("bad graph"); n != 1 || p.loads["b"] != 1 {
			t.Errorf("logged %d times, loaded %d times", n, p.loads["b"])
		}
		if err := p.Ready(); err != nil {
			t.Errorf("a broken model that came later made it unready: %v", err)
		}
		p.write(map[string]string{"b/1/model.bin": "mended", "c/config.pbtxt": doubleConfig, "c/1/model.bin": "good"})
		p.polls()
		p.want("a/1 READY", "b/1 READY", "c/1 READY")
		p.write(map[string]string{"c/config.pbtxt": "backend: 7"})
		p.polls()
		const refused = "c/1 READY the last load failed: c/config.pbtxt:1:10: invalid value for string type: 7"
		p.want("a/1 READY", "b/1 READY", refused) // it serves what it has
		if n := p.logs.count("model refused"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		if err := os.RemoveAll(filepath.Join(p.folder, "a")); err != nil {
			t.Fatal(err)
		}
		p.polls()
		p.want("b/1 READY", refused)
		if p.Has("a") {
			t.Error("it is remembered")
		}
		if p.loads["a"] != 1 || p.loads["b"] != 2 || p.loads["c"] != 1 {
			t.Errorf("loads: %v", p.loads)
		}
	})
}

// REP-03: a load that takes for ever does not hold the others up.
func TestPollPastOneThatHangs(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig, "a/1/model.bin": "x"}, func(p *polled) {
		p.SetLoadPolicy(modelserver.LoadPolicy{Threads: 2})
		p.write(map[string]string{"b/config.pbtxt": doubleConfig, "b/1/model.bin": "hangs"})
		p.polls()
		p.write(map[string]string{"a/1/model.bin": "xyz"})
		p.polls()
		p.want("a/1 READY", "b/1 LOADING")
		if y := p.answers("a"); y != 3 {
			t.Errorf("a answers %g", y)
		}
	})
}

// REP-04: what is copied slowly is loaded when it is complete, and the old version
// serves until then.
func TestPollHalfCopied(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig, "a/1/model.bin": "x"}, func(p *polled) {
		steps := []map[string]string{
			{"a/2/": ""}, // the folder first, as object stores do
			{"a/2/model.bin": "bad: half"},
			{"a/2/model.bin": "bad: half and more"},
		}
		for _, files := range steps { // each is left alone for long enough to be tried
			p.write(files)
			p.polls()
			if y := p.answers("a"); y != 1 {
				t.Errorf("after %v it answers %g", files, y)
			}
		}
		if p.loads["a"] != 4 {
			t.Errorf("%d loads", p.loads["a"])
		}
		p.want("a/1 READY", "a/2 UNAVAILABLE bad: half and more")
		p.write(map[string]string{"a/2/model.bin": "whole"})
		p.polls()
		p.want("a/2 READY")
		if y := p.answers("a"); y != 5 {
			t.Errorf("it answers %g", y)
		}
	})
}

// REP-04: while files change they are not loaded at all.
func TestPollWaitsUntilSettled(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig, "a/1/model.bin": "x"}, func(p *polled) {
		text := ""
		for range 60 { // a copy that takes a minute
			text += "x"
			p.write(map[string]string{"a/2/model.bin": text})
			time.Sleep(time.Second)
			synctest.Wait()
			if p.loads["a"] != 1 || p.answers("a") != 1 {
				t.Fatalf("%d loads after %d bytes", p.loads["a"], len(text))
			}
		}
		p.polls()
		p.want("a/2 READY")
		if p.loads["a"] != 2 || p.answers("a") != 60 {
			t.Errorf("%d loads, it answers %g", p.loads["a"], p.answers("a"))
		}
	})
}

// REP-05: a mounted ConfigMap changes all at once, by one link.
func TestPollConfigMap(t *testing.T) {
	poll(t, map[string]string{
		"a/..one/config.pbtxt": doubleConfig, "a/..one/1/model.bin": "x",
		"a/..two/config.pbtxt": doubleConfig, "a/..two/1/model.bin": "xx",
		"b/config.pbtxt": doubleConfig, "b/1/model.bin": "x",
	}, func(p *polled) {
		link := func(target, name string) {
			t.Helper()
			temporary := filepath.Join(p.folder, "a", ".new")
			if err := os.Symlink(target, temporary); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(temporary, filepath.Join(p.folder, "a", name)); err != nil {
				t.Fatal(err)
			}
		}
		link("..one", "..data")
		link("..data/config.pbtxt", "config.pbtxt")
		link("..data/1", "1")
		p.polls()
		p.want("a/1 READY", "b/1 READY")
		if y := p.answers("a"); y != 1 {
			t.Errorf("it answers %g", y)
		}
		link("..two", "..data")
		p.polls()
		if y := p.answers("a"); y != 2 || p.loads["a"] != 2 || p.loads["b"] != 1 {
			t.Errorf("it answers %g after the loads %v", y, p.loads)
		}
	})
}

// A version of which nothing has changed stays, with its counts, when another
// comes beside it, and policy and labels are followed.
func TestPollKeepsVersions(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig + labels("stable=1"), "a/1/model.bin": "x"}, func(p *polled) {
		if p.answers("a") != 1 {
			t.Error("no answer")
		}
		p.write(map[string]string{
			"a/config.pbtxt": doubleConfig + "version_policy { all {} }" + labels("stable=1,canary=2"), "a/2/model.bin": "xx",
		})
		p.polls()
		p.want("a/1 READY", "a/2 READY")
		if p.loads["a"] != 2 {
			t.Errorf("%d loads", p.loads["a"])
		}
		if n := count(t, p.Service, "a", "stable"); n != 1 {
			t.Errorf("the count of the version that stayed is %d", n)
		}
		for _, version := range []string{"1", "2", "stable", "canary"} {
			cfg, err := p.Config("a", version)
			if err != nil || cfg.GetVersionPolicy().GetAll() == nil || cfg.GetParameters()["version_labels"].GetStringValue() != "stable=1,canary=2" {
				t.Errorf("version %s has %v, %v", version, cfg, err)
			}
		}
		p.write(map[string]string{"a/labels.txt": "all versions have it"})
		p.polls()
		if p.loads["a"] != 4 {
			t.Errorf("%d loads after a file of both changed", p.loads["a"])
		}
	})
}

func TestPollRepositoryGoes(t *testing.T) {
	poll(t, map[string]string{"a/config.pbtxt": doubleConfig, "a/1/model.bin": "x"}, func(p *polled) {
		away := p.folder + ".away"
		if err := os.Rename(p.folder, away); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			p.polls()
		}
		p.want("a/1 READY") // whoever can't look unloads nothing
		if n := p.logs.count("models not looked at"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		if err := os.Rename(away, p.folder); err != nil {
			t.Fatal(err)
		}
		p.polls()
		p.want("a/1 READY")
	})
}
