package jobs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/loadtest/bench/jobs"
	"triptych/loadtest/bench/rows"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// binaries are a folder with programs that end at once.
func binaries(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"nats-server", "gateway", "preprocess", "predictor", "postprocess"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return folder
}

func TestRunRefuses(t *testing.T) {
	folder := binaries(t)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"row":     {[]string{"--rows", "5"}, "--rows has 5, must be from 1 to 4"},
		"many":    {[]string{"--many", "9"}, "--many is 9, must be 10 or more"},
		"callers": {[]string{"--callers", "0"}, "--callers is 0"},
		"NATS":    {[]string{"--nats-server", "/nowhere/nats"}, "there is no /nowhere/nats"},
		"ours":    {[]string{"--nats-server", folder + "/nats-server", "--binaries", "/nowhere"}, "there is no /nowhere/gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := jobs.Run(t.Context(), tt.args, &stdout, &stderr); status != rows.NotRun || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}

// What can't be measured is an error, and the report is there all the same.
func TestRunWithoutNATS(t *testing.T) {
	folder := binaries(t)
	output := filepath.Join(t.TempDir(), "report.json")
	var stdout, stderr bytes.Buffer
	status := jobs.Run(t.Context(), []string{
		"--rounds", "1", "--window", "1s", "--nats-server", folder + "/nats-server", "--binaries", folder, "--output", output,
		"--models", testkit.Path(t, "models"), "--stand-ins", testkit.Path(t, "tools", "bench", "models"), "--ensemble", testkit.Path(t, "tools", "bench", "jobs"),
	}, &stdout, &stderr)
	if status != rows.NotRun || !strings.Contains(stderr.String(), "row 4: wait for the server to listen: the server has ended") && !strings.Contains(stderr.String(), "row 4: the server has ended") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
	if _, err := os.Stat(output); err != nil {
		t.Error(err)
	}
}
