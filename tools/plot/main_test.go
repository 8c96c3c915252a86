package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const report = `{"points": [
	{"percent": 5, "side": "ours", "p50_ms": 5.6, "p99_ms": 9.1, "batch": 1.1},
	{"percent": 80, "side": "ours", "p50_ms": 12, "p99_ms": 20, "batch": 9},
	{"percent": 5, "side": "rival", "p50_ms": 16, "p99_ms": 18, "batch": 1.5},
	{"percent": 80, "side": "rival", "p50_ms": 15, "p99_ms": 26, "batch": 9.8}]}`

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRun(t *testing.T) {
	in, out := written(t, report), filepath.Join(t.TempDir(), "out.svg")
	var stderr bytes.Buffer
	if status := run([]string{"-output", out, "-rival", "Other", in}, &stderr); status != 0 {
		t.Fatalf("status %d, %s", status, stderr.String())
	}
	svg, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Triptych, median", "Other, p99", "Batch size, mean", "load, % of capacity"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	again := filepath.Join(t.TempDir(), "again.svg")
	run([]string{"-output", again, "-rival", "Other", in}, &stderr)
	if second, err := os.ReadFile(again); err != nil || !bytes.Equal(svg, second) {
		t.Errorf("drawn again it is another picture, error %v", err)
	}
}

func TestRunWithoutARival(t *testing.T) {
	svg, err := chart([]point{{Percent: 5, Side: "ours", P50: 1, P99: 2, Batch: 3}}, map[string]string{"ours": "Triptych", "rival": "Other"})
	if err != nil || strings.Contains(string(svg), "Other") {
		t.Errorf("error %v", err)
	}
}

const chainReport = `{"figures": [
	{"row": 1, "name": "float32, 16 callers: throughput", "ours": 150, "rival": 100},
	{"row": 1, "name": "float32, 16 callers: p99", "ours": 150, "rival": 250},
	{"row": 3, "name": "stand-in, 32 callers: throughput", "ours": 600, "rival": 300},
	{"row": 3, "name": "stand-in, 32 callers: p99", "ours": 70, "rival": 90},
	{"row": 4, "name": "float32, one caller: throughput", "ours": 80, "rival": 70}]}`

func TestChain(t *testing.T) {
	in, out := written(t, chainReport), filepath.Join(t.TempDir(), "out.svg")
	var stderr bytes.Buffer
	if status := run([]string{"-kind", "chain", "-output", out, "-rival", "Other", in}, &stderr); status != 0 {
		t.Fatalf("status %d, %s", status, stderr.String())
	}
	svg, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Triptych", "Other", "stand-in", "600", "250"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	if strings.Contains(string(svg), "one caller") {
		t.Error("the picture has the contest of one caller")
	}
	alone, err := chainChart(written(t, strings.NewReplacer(`, "rival": 100`, "", `, "rival": 250`, "", `, "rival": 300`, "", `, "rival": 90`, "").Replace(chainReport)), "Other")
	if err != nil || strings.Contains(string(alone), "Other") {
		t.Errorf("without a rival: error %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no report", nil, 1, "name one report"},
		{"not there", []string{"nothing.json"}, 1, "nothing.json"},
		{"not JSON", []string{written(t, "x")}, 1, "invalid character"},
		{"no points", []string{written(t, "{}")}, 1, "has no points"},
		{"kind", []string{"-kind", "x", "x"}, 1, `no kind "x"`},
		{"no contests", []string{"-kind", "chain", written(t, "{}")}, 1, "has no contests"},
		{"no chain", []string{"-kind", "chain", "nothing.json"}, 1, "nothing.json"},
		{"no JSON of a chain", []string{"-kind", "chain", written(t, "x")}, 1, "invalid character"},
		{"flag", []string{"-x"}, 2, "not defined"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if status := run(tt.args, &stderr); status != tt.status || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}
