package upstream_test

import (
	"context"
	"testing"
	"time"

	"triptych/gateway/upstream"
	"triptych/shared/rpc"
	"triptych/shared/telemetry"
	"triptych/shared/testkit"
	"triptych/shared/testkit/servertest"
)

// BenchmarkInfer is a whole hop of a small request, with one replica and with two.
func BenchmarkInfer(b *testing.B) {
	for name, replicas := range map[string]int{"one": 1, "two": 2} {
		b.Run(name, func(b *testing.B) {
			cfg := upstream.DefaultConfig()
			for range replicas {
				folder := servertest.Repository(b, map[string]string{"a/config.pbtxt": servertest.MapConfig("add")})
				cfg.Addresses = append(cfg.Addresses, servertest.Start(b, servertest.Options{Folders: []string{folder}}, adding("add", 1)).Address)
			}
			f, err := upstream.New(cfg, rpc.DefaultConfig(), telemetry.Discard())
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Part().Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			defer f.Part().Stop(context.Background())
			testkit.Eventually(b, 10*time.Second, "the first round is over", func() bool { return f.Settled() == nil })
			req := servertest.Request("a", 1, 2)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.Infer(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
