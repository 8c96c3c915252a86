package upstream_test

import (
	"context"
	"testing"
	"time"

	"triptych/gateway/upstream"
	"triptych/proto/inference"
	"triptych/shared/modelserver"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// interval is short, so that tests that wait for the next round are.
const interval = 20 * time.Millisecond

// patience bounds every wait of these tests; a good run needs a fraction of it.
const patience = 20 * time.Second

// start starts a fleet, which ends with the test.
func start(t *testing.T, addresses ...string) *upstream.Fleet {
	t.Helper()
	return startWith(t, settings(interval, addresses...))
}

// startWith starts a fleet with other settings than the defaults.
func startWith(t *testing.T, cfg upstream.Config) *upstream.Fleet {
	t.Helper()
	return startTold(t, cfg, telemetry.Discard())
}

// startTold starts a fleet that tells what it does.
func startTold(t *testing.T, cfg upstream.Config, tel *telemetry.Telemetry) *upstream.Fleet {
	t.Helper()
	f, err := upstream.New(cfg, rpc.DefaultConfig(), tel)
	if err != nil {
		t.Fatal(err)
	}
	part := f.Part()
	if err := part.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the first round is over", func() bool { return f.Settled() == nil })
	return f
}

// eventually waits until a condition holds that other goroutines bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testkit.Eventually(t, patience, what, holds)
}

// nextRound waits for a round that begins from now on to be over.
func nextRound(t *testing.T, f *upstream.Fleet) {
	t.Helper()
	now := time.Now()
	eventually(t, "another round is over", func() bool { return f.Asked().After(now) })
}

// adding is a backend whose models add n.
func adding(kind string, n float32) servertest.Backend {
	return servertest.Backend{Kind: kind, OnLoad: func(context.Context, modelserver.Spec) (modelserver.Model, error) {
		return servertest.Map(func(x float32) float32 { return x + n }), nil
	}}
}

// serve starts a server of models that add n. Each has that configuration.
func serve(t *testing.T, address string, n float32, models ...string) *servertest.Server {
	t.Helper()
	files := map[string]string{}
	for _, m := range models {
		files[m+"/config.pbtxt"] = servertest.MapConfig("add")
	}
	return servertest.Start(t, servertest.Options{Address: address, Folders: []string{servertest.Repository(t, files)}, Control: true}, adding("add", n))
}

func index(f *upstream.Fleet) []string {
	var lines []string
	for _, m := range f.Catalog().Index() {
		lines = append(lines, line(m))
	}
	return lines
}

func line(m *inference.RepositoryIndexResponse_ModelIndex) string {
	s := m.GetName() + "/" + m.GetVersion() + " " + m.GetState()
	if m.GetReason() != "" {
		s += " " + m.GetReason()
	}
	return s
}

func settings(interval time.Duration, addresses ...string) upstream.Config {
	cfg := upstream.DefaultConfig()
	cfg.Addresses, cfg.Interval = addresses, interval
	return cfg
}
