package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"triptych/loadtest/target/targettest"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

// told is what came of a command.
type told struct {
	status         int
	stdout, stderr string
	report         map[string]any
	page           string // or the JSON, as it was written
}

// command runs one, with its report in a file whose suffix says which kind it is.
func command(t *testing.T, file string, args ...string) told {
	t.Helper()
	return commandWith(t, t.Context(), nil, file, args...)
}

func commandWith(t *testing.T, ctx context.Context, environ []string, file string, args ...string) told { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	file = filepath.Join(t.TempDir(), file)
	var stdout, stderr bytes.Buffer
	c := told{status: run(ctx, append(args, "--report", file), environ, &stdout, &stderr)}
	c.stdout, c.stderr = stdout.String(), stderr.String()
	data, err := os.ReadFile(file)
	if err != nil {
		return c
	}
	c.page = string(data)
	if strings.HasSuffix(file, ".json") && len(data) > 0 {
		if err := json.Unmarshal(data, &c.report); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
	}
	return c
}

func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// contains checks for each part of a text.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestRunScenario(t *testing.T) {
	server := targettest.Start(t, echo)
	dir := targettest.Pictures(t, "a", "b")
	file := scenarioFile(t, `
name: Small
about: Two sorts & two stages.
targets:
  web: {url: "`+server.URL+`"}
  grpc: {url: "`+server.Address+`", protocol: grpc}
requests:
  - {name: photos, target: web, images: `+dir+`, weight: 3, consistent: true}
  - {name: work, target: web, images: `+dir+`, jobs: 4}
  - {name: tensors, target: grpc, tensor: "`+targettest.Tensor+`:UINT8:2"}
stages:
  - {name: closed, concurrency: 2, requests: 100, warmup: 50ms, thresholds: [p99 < 10s]}
  - {name: open, rate: 500, duration: 200ms}
thresholds: [wrong == 0, errors == 0, throughput > 1]
`)
	c := command(t, "r.json", "run", file)
	if c.status != statusGood || c.report["passed"] != true {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "Small ("+file+")", "closed: closed loop, 2 in flight, for ", " after a warm-up of 0.1 s (", "requests    100: 100 answered, 0 errors",
		"  photos ", "  work ", " items)", "open: open loop, 500 requests a second", "all stages, ", "met  p99 < 10s: ", "met  wrong == 0: 0", "corrected ", "\npassed\n")
	stages := c.report["stages"].([]any)
	first := stages[0].(map[string]any)
	if len(stages) != 2 || first["answered"] != 100.0 || len(first["parts"].([]any)) != 3 || first["load"].(map[string]any)["concurrency"] != 2.0 {
		t.Errorf("report %v", first)
	}
	c = command(t, "r.html", "run", file)
	if c.status != statusGood {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.page, "<!doctype html", "Small", "Two sorts &amp; two stages.", "p99 &lt; 10s")
}

func TestRunScenarioThatFails(t *testing.T) {
	right := targettest.Start(t, echo)
	wrong := targettest.Start(t, func([]byte) ([]string, error) { return []string{"espresso"}, nil })
	busy := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "full") })
	cats := targettest.Pictures(t, "cat.gif")
	scenario := func(more string) string {
		return "requests: {images: " + cats + ", expected: " + testkit.Path(t, "testdata", "expected.json") + ", expected_version: '1'}\nstages:\n- {name: s, concurrency: 1, requests: 10" + more
	}
	plain := "requests: {images: " + cats + "}\nstages:\n- {name: s, concurrency: 1, requests: 10}\n"
	tests := []struct {
		name, url, text string
		args            []string
		status          int
		want            []string
	}{
		{"a condition of a stage", right.URL, strings.Replace(plain, "requests: 10", "requests: 10, thresholds: [p50 > 1h]", 1), nil, statusErrors, []string{"FAILED  p50 > 1h: "}},
		{"a condition of the whole", right.URL, plain + "thresholds: requests > 10", nil, statusErrors, []string{"FAILED  requests > 10: 10"}},
		{"wrong answers", wrong.URL, scenario("}\n"), nil, statusErrors, []string{"10  wrong answer: ", "FAILED: there were no answers"}},
		{"errors", busy.URL, plain, nil, statusErrors, []string{"10  HTTP 429 BUSY: full"}},
		{"errors that are allowed, without any answer", busy.URL, plain + "thresholds: errors <= 100%", nil, statusErrors, []string{"FAILED: there were no answers"}},
		{"allowed by a flag", busy.URL, plain, []string{"--allow-errors"}, statusGood, []string{"\npassed\n"}},
		{"a condition beside errors that are allowed", busy.URL, plain + "thresholds: requests > 10", []string{"--allow-errors"}, statusErrors, []string{"FAILED  requests > 10: 10"}},
		{"a condition about errors beside the flag", busy.URL, plain + "thresholds: errors < 1%", []string{"--allow-errors"}, statusErrors, []string{"FAILED  errors < 1%: 100%"}},
		{"not YAML", "", "a: [", nil, statusNotRun, nil},
		{"no image", "", "requests: {images: nowhere}\nstages: {concurrency: 1, requests: 1}", nil, statusNotRun, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := command(t, "r.json", append(tt.args, "run", scenarioFile(t, tt.text), "--url", tt.url)...)
			if c.status != tt.status {
				t.Errorf("status %d\n%s%s", c.status, c.stdout, c.stderr)
			}
			contains(t, c.stdout, tt.want...)
		})
	}
}

func TestRunScenarioEndedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		if n.Add(1) == 50 {
			cancel()
		}
		return echo(image)
	})
	file := scenarioFile(t, "requests: {images: "+targettest.Pictures(t, "a")+"}\nstages:\n- {concurrency: 1, duration: 1h}\n- {concurrency: 1, duration: 1h}\n")
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"run", file, "--url", server.URL}, nil, &stdout, &stderr)
	if status != statusGood || strings.Contains(stdout.String(), "stage 2") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	contains(t, stdout.String(), "passed, ended early")
}

func TestSearchForARate(t *testing.T) {
	// More than one at once is too much.
	var busy atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		defer busy.Add(-1)
		if busy.Add(1) > 1 {
			return nil, failure.New(failure.Busy, "full")
		}
		time.Sleep(2 * time.Millisecond)
		return echo(image)
	})
	args := []string{
		"search", targettest.Pictures(t, "a"), "--url", server.URL, "--keep", "p99 < 10s", "--keep", "errors < 60%", "--from", "25", "--most", "4000",
		"--duration", "200ms", "--duration-most", "200ms", "--warmup", "0s", "--precision", "0.9", "--quiet",
	}
	c := command(t, "r.json", args...)
	if c.status != statusGood || c.report["best_per_s"].(float64) <= 0 {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "classify to http://", "25/s ", "kept", "errors < 60% was ", "requests a second keep the conditions, ")
	c = command(t, "r.html", args...)
	contains(t, c.page, "requests a second keep the conditions")
}

func TestSearchForNothing(t *testing.T) {
	server := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "full") })
	c := command(t, "r.json", "search", targettest.Pictures(t, "a"), "--url", server.URL, "--keep", "p99 < 10s", "--duration", "100ms", "--duration-most", "100ms", "--warmup", "0s", "--steps", "2", "--from", "100")
	if c.status != statusErrors {
		t.Errorf("status %d", c.status)
	}
	contains(t, c.stdout, "no rate keeps the conditions: the lowest that was tried is 50/s")
}

// Errors that are allowed are no rate that was found.
func TestSearchForNothingWithErrorsAllowed(t *testing.T) {
	server := targettest.Start(t, func([]byte) ([]string, error) { return nil, failure.New(failure.Busy, "full") })
	c := command(t, "r.json", "search", targettest.Pictures(t, "a"), "--url", server.URL, "--keep", "p99 < 10s", "--duration", "100ms", "--duration-most", "100ms", "--warmup", "0s", "--steps", "1", "--from", "100", "--allow-errors")
	if c.status != statusErrors {
		t.Errorf("status %d", c.status)
	}
}

// One side's errors are allowed, and don't keep the comparison from being good.
func TestCompareWithErrors(t *testing.T) {
	var n atomic.Int64
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		if n.Add(1)%2 == 0 {
			return nil, failure.New(failure.Busy, "full")
		}
		return echo(image)
	})
	args := []string{"compare", server.URL, server.URL, targettest.Pictures(t, "a"), "--rounds", "2", "--duration", "100ms", "--warmup", "0s"}
	if c := command(t, "r.json", args...); c.status != statusErrors {
		t.Errorf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	if c := command(t, "r.json", append(args, "--allow-errors")...); c.status != statusGood {
		t.Errorf("allowed: status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
}

func TestSearchForTheCapacity(t *testing.T) {
	one := make(chan struct{}, 1)
	server := targettest.Start(t, func(image []byte) ([]string, error) {
		one <- struct{}{}
		defer func() { <-one }()
		time.Sleep(2 * time.Millisecond)
		return echo(image)
	})
	file := scenarioFile(t, "target: {protocol: grpc}\nrequests: {images: "+targettest.Pictures(t, "a")+"}\nstages: {concurrency: 1, requests: 1}\n")
	c := command(t, "r.json", "search", "--capacity", "--scenario", file, "--url", server.Address, "--duration", "200ms", "--warmup", "0s", "--gain", "0.5")
	if c.status != statusGood || c.report["best_per_s"].(float64) > 500 || len(c.report["steps"].([]any)) < 3 {
		t.Errorf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "grpc to "+server.Address, "1 in flight", "throughput grew no more", "capacity ")
}

func TestCompareServers(t *testing.T) {
	slow := targettest.Start(t, func([]byte) ([]string, error) {
		time.Sleep(20 * time.Millisecond)
		return []string{"Egyptian cat"}, nil
	})
	fast := targettest.Start(t, func([]byte) ([]string, error) { return []string{"Egyptian cat"}, nil })
	args := []string{
		"compare", slow.URL, fast.Address, targettest.Pictures(t, "cat.gif"), "--protocol-b", "grpc", "--rounds", "4", "--duration", "100ms", "--warmup", "0s", "--concurrency", "2",
		"--expected", testkit.Path(t, "testdata", "expected.json"), "--expected-version-a", "1", "--expected-version-b", "2",
	}
	c := command(t, "r.json", args...)
	if c.status != statusGood || len(c.report["rounds"].([]any)) != 4 {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "A  classify to "+slow.URL, "B  grpc to "+fast.Address, "round 4  A ", "closed loop, 2 in flight, 4 rounds", "throughput ", "95 % interval", "B is better by ")
	c = command(t, "r.html", args...)
	contains(t, c.page, "Comparison of two servers", "B is better by ")
}

// What is wrong with the started command is said, with the end of what it said.
func TestCompareWithACommandThatEnds(t *testing.T) {
	c := command(t, "r.json", "compare", "127.0.0.1:1", "127.0.0.1:1", targettest.Pictures(t, "a"), "--start-a", "echo no such model; exit 3", "--start-b", "echo nor here; exit 3", "--rounds", "1")
	if c.status != statusNotRun {
		t.Errorf("status %d\n%s", c.status, c.stdout)
	}
	contains(t, c.stderr, "does not answer", "the server has ended")
	if !strings.Contains(c.stderr, "no such model") && !strings.Contains(c.stderr, "nor here") {
		t.Errorf("what the command said is missing:\n%s", c.stderr)
	}
}

func TestPageOfATest(t *testing.T) {
	server := targettest.Start(t, echo)
	c := command(t, "r.html", targettest.Pictures(t, "a"), "--url", server.URL, "--requests", "50", "--warmup", "auto", "--warmup-most", "100ms")
	if c.status != statusGood {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.page, "<!doctype html", "Load test of classify", "not steady after 100ms", "The server tells no statistics of its models")
	contains(t, c.stdout, "warm-up     not steady after 100ms: there were too few answers to judge", "after a warm-up of 0.")
}

func TestJobsByFlags(t *testing.T) {
	server := targettest.Start(t, echo)
	c := command(t, "r.json", targettest.Pictures(t, "a", "b"), "--url", server.URL, "--requests", "6", "--jobs", "5", "--tenant", "shop", "--header", targettest.NoteHeader+"=hi", "--priority", "3", "--verify-consistent")
	if c.status != statusGood || c.report["items"] != 30.0 {
		t.Fatalf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "jobs of 5 out of 2 images", ", 30 items: ")
	if got := server.Last(); got.Tenant != "shop" || got.Note != "hi" || got.Priority != "3" {
		t.Errorf("the server was told %+v", got)
	}
}

func TestCommandsRefuse(t *testing.T) {
	dir := targettest.Pictures(t, "a")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"run without a file", []string{"run"}, "accepts 1 arg(s), received 0"},
		{"run with a flag of others", []string{"run", "x.yaml", "--rate", "1"}, "unknown flag: --rate"},
		{"metrics", []string{dir, "--requests", "1", "--metrics", "x", "--report", filepath.Join(t.TempDir(), "r.html")}, "metrics are at \"x\""},
		{"run without the file", []string{"run", "x.yaml"}, "scenario x.yaml can't be read"},
		{"search without a condition", []string{"search", dir}, "--keep is missing"},
		{"search for a condition that is none", []string{"search", dir, "--keep", "p99"}, "must be like p99 < 200ms"},
		{"search from", []string{"search", dir, "--capacity", "--from", "0.5"}, "--from is 0.5, must be more"},
		{"search to", []string{"search", dir, "--capacity", "--from", "5", "--most", "2"}, "--most is 2, must be from 5"},
		{"precision", []string{"search", dir, "--keep", "p99 < 1s", "--precision", "0"}, "--precision is 0"},
		{"gain", []string{"search", dir, "--capacity", "--gain", "2"}, "--gain is 2"},
		{"steps", []string{"search", dir, "--capacity", "--steps", "0"}, "--steps is 0"},
		{"search duration", []string{"search", dir, "--capacity", "--duration", "0"}, "--duration is 0s, must be more than 0"},
		{"capacity with a condition", []string{"search", dir, "--capacity", "--keep", "p99 < 1s"}, "--keep is for a rate"},
		{"scenario and images", []string{"search", dir, "--capacity", "--scenario", "x.yaml"}, "--scenario has requests of its own"},
		{"compare one", []string{"compare", "a"}, "requires at least 2 arg(s)"},
		{"rounds", []string{"compare", "a", "b", dir, "--rounds", "0"}, "--rounds is 0"},
		{"protocol of a side", []string{"compare", "a", "b", dir, "--protocol-b", "x"}, `--protocol-b is "x"`},
		{"compare duration", []string{"compare", "a", "b", dir, "--duration", "0"}, "--duration is 0s"},
		{"tenant of a search", []string{"search", dir, "--capacity", "--tenant", "a b"}, `--tenant is "a b", must be 1 to 64 printable ASCII characters without blanks`},
		{"compare without images", []string{"compare", "a", "b"}, "give an image or a folder of images"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), tt.args, nil, &stdout, &stderr); status != statusNotRun || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("status %d, %q, want %q", status, stderr.String(), tt.want)
			}
		})
	}
}
