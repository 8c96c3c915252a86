// Package stacktest lets a test's own binary be each of the four services, so that
// tests run them as processes without programs that were built before.
package stacktest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"triptych/gateway"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/stack"
	"triptych/services/postprocess"
	"triptych/services/predictor"
	"triptych/services/preprocess"
	"triptych/shared/modelserver"
	"triptych/shared/stage"
	"triptych/shared/telemetry"
)

// variable makes the binary a service.
const variable = "STACK_TEST_SERVICE"

// Main runs as a service where the binary was started as one, and says so with its
// exit status. TestMain asks it first.
func Main() (status int, is bool) {
	const summary = "A service of a test."
	own := map[string]func() int{
		stack.Preprocess: func() int {
			cfg := preprocess.DefaultConfig()
			return stage.MainWithBackends(stage.Here(), stack.Preprocess, summary, &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
				return stage.One(preprocess.NewBackend(cfg, tel))
			})
		},
		stack.Predictor: func() int {
			cfg := predictor.DefaultConfig()
			return stage.MainWithBackends(stage.Here(), stack.Predictor, summary, &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
				return predictor.NewBackends(cfg, tel)
			})
		},
		stack.Postprocess: func() int {
			cfg := postprocess.DefaultConfig()
			return stage.MainWithBackends(stage.Here(), stack.Postprocess, summary, &cfg, func(tel *telemetry.Telemetry) ([]modelserver.Backend, error) {
				return stage.One(postprocess.NewBackend(cfg, tel))
			})
		},
		stack.Gateway: func() int {
			common, cfg := stage.DefaultConfig(), gateway.DefaultConfig()
			return stage.Main(stage.Here(), stack.Gateway, summary, &common, &cfg, func(ctx context.Context, logs io.Writer) error {
				g, err := gateway.New(ctx, common, cfg, logs)
				if err != nil {
					return err
				}
				return g.Run(ctx, func() {})
			})
		},
	}[os.Getenv(variable)]
	if own == nil {
		return 0, false
	}
	return own(), true
}

// Binaries is a folder with a program for each service, which is this binary again.
func Binaries(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	folder := tb.TempDir()
	for _, name := range append(stack.Stages(), stack.Gateway) {
		text := fmt.Sprintf("#!/bin/sh\n%s=%s %s \"$@\"\n", variable, name, server.Command(self))
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			tb.Fatal(err)
		}
	}
	return folder
}
