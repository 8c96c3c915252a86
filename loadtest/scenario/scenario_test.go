package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triptych/loadtest/load"
	"triptych/loadtest/scenario"
	"triptych/loadtest/stage"
	"triptych/loadtest/target"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const full = `
name: All of it
about: Each key once.
seed: 9
timeout: 5s
max_outstanding: 50
targets:
  a: {url: "http://h:1", protocol: rest, headers: {x-key: k, x-both: a}}
  b: &b
    url: h:2
    protocol: grpc
    connections: 3
requests:
  - name: photos
    target: a
    weight: 2.5
    images: [one, /two]
    model: m
    version: "4"
    input: I
    output: O
    priority: 2
    deadline: 100ms
    tenant: t
    headers: {x-both: r}
    expected: right.json
    consistent: true
  - target: b
    tensor: x:FP32:3
    batch: 0
    contents: 2
  - {target: a, images: three, jobs: 20, expected_version: 1}
stages:
  - {duration: 10s, rate: 5, thresholds: ["p99 < 1s", errors < 1%]}
  - {name: up, duration: 1m, rate: {from: 0, to: 8}, arrivals: even, max_outstanding: 7, warmup: 3s}
  - {name: closed, requests: 1_000, concurrency: 4, timeout: 1s, warmup: auto}
  - {name: bounds, requests: 1, concurrency: 1, warmup: {most: 5s, window: 100ms}}
thresholds: wrong == 0
`

func TestRead(t *testing.T) {
	file := write(t, full)
	got, err := scenario.Read(file, scenario.Change{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	condition := func(text string) threshold.Threshold {
		c, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a := target.Options{Protocol: target.REST, URL: "http://h:1", Connections: 2, Model: "classify", Input: "IMAGE", Output: "LABEL", InFlight: 50, Headers: map[string]string{"x-key": "k", "x-both": "a"}}
	photos := a
	photos.Model, photos.Version, photos.Input, photos.Output, photos.Priority, photos.Tenant = "m", "4", "I", "O", 2, "t"
	photos.Headers = map[string]string{"x-key": "k", "x-both": "r"}
	open := func(n uint64) load.Arrivals { return load.Arrivals{MaxOutstanding: 50, Seed: 9 + n, Exact: true} }
	level, ramp := open(1), load.Arrivals{Ramp: true, Until: 8, Even: true, MaxOutstanding: 7, Seed: 11, Exact: true}
	level.Rate = 5
	want := scenario.Scenario{
		Name: "All of it", About: "Each key once.", Seed: 9,
		Requests: []workload.Spec{
			{
				Name: "photos", Weight: 2.5, Target: photos, Images: []string{filepath.Join(dir, "one"), "/two"}, Batch: 1, Contents: 16, Deadline: 100 * time.Millisecond,
				Expected: filepath.Join(dir, "right.json"), ExpectedVersion: "4", Consistent: true,
			},
			{Weight: 1, Target: target.Options{Protocol: target.GRPC, URL: "h:2", Connections: 3, Model: "classify", Input: "IMAGE", Output: "LABEL", InFlight: 50}, Tensor: "x:FP32:3", Contents: 2, ExpectedVersion: "2"},
			{Weight: 1, Target: a, Images: []string{filepath.Join(dir, "three")}, Batch: 1, Contents: 16, JobItems: 20, ExpectedVersion: "1"},
		},
		Stages: []stage.Stage{
			{Name: "stage 1", Duration: 10 * time.Second, Timeout: 5 * time.Second, Arrivals: level, Thresholds: []threshold.Threshold{condition("p99 < 1s"), condition("errors < 1%")}},
			{Name: "up", Duration: time.Minute, Timeout: 5 * time.Second, Arrivals: ramp, Warmup: stage.Warmup{Duration: 3 * time.Second}},
			{Name: "closed", Requests: 1000, Concurrency: 4, Timeout: time.Second, Warmup: stage.Automatic()},
			{Name: "bounds", Requests: 1, Concurrency: 1, Timeout: 5 * time.Second, Warmup: stage.Warmup{Auto: true, Duration: 5 * time.Second, Window: 100 * time.Millisecond}},
		},
		Thresholds: []threshold.Threshold{condition("wrong == 0")},
	}
	same := cmp.Comparer(func(a, b threshold.Threshold) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, got, same, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDefaultsAndChange(t *testing.T) {
	file := write(t, "requests: {images: x}\nstages: {rate: 1, duration: 1s}\n")
	got, err := scenario.Read(file, scenario.Change{URL: "http://elsewhere"})
	if err != nil || got.Name != "test" || got.Requests[0].Target.URL != "http://elsewhere" || got.Requests[0].Target.Protocol != target.Classify || got.Stages[0].InFlight() != 1000 {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestAliasesAreFollowed(t *testing.T) {
	file := write(t, "requests: [&r {images: x}, *r]\nstages: [{rate: 1, duration: 1s}]\n")
	got, err := scenario.Read(file, scenario.Change{})
	if err != nil || len(got.Requests) != 2 || got.Requests[1].Images[0] != got.Requests[0].Images[0] {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	const good = "requests: [{images: x}]\nstages: [{rate: 1, duration: 1s}]\n"
	request := func(text string) string {
		return "requests:\n- {" + text + "}\nstages: [{rate: 1, duration: 1s}]\n"
	}
	stages := func(text string) string { return "requests: [{images: x}]\nstages:\n- {" + text + "}\n" }
	tests := []struct{ name, text, want string }{
		{"not YAML", "a: [", "is not YAML"},
		{"nothing", "", "no documents"},
		{"two documents", good + "---\n" + good, "is not YAML"},
		{"a list", "- 1\n", ":1:1: a scenario must be a mapping"},
		{"unknown key", good + "treshold: p99 < 1s\n", `:3:1: unknown key "treshold"; known here: name, about`},
		{"unknown key of a stage", stages("rate: 1, duration: 1s, warm: 1s"), `:3:27: unknown key "warm"`},
		{"unknown key of a request", request("images: x, modell: y"), `:2:15: unknown key "modell"`},
		{"unknown key of a target", good + "target: {uri: x}\n", `:3:10: unknown key "uri"; known here: url, protocol`},
		{"unknown key of a ramp", stages("rate: {from: 1, to: 2, by: 3}, duration: 1s"), `unknown key "by"`},
		{"unknown key of a warm-up", stages("rate: 1, duration: 1s, warmup: {least: 1s}"), `unknown key "least"`},
		{"twice", good + "seed: 1\nseed: 2\n", `"seed" is given twice`},
		{"no requests", "stages: [{rate: 1, duration: 1s}]\n", "from 1 to 100 requests, not 0"},
		{"no stages", "requests: [{images: x}]\n", "from 1 to 1000 stages, not 0"},
		{"timeout", good + "timeout: 0s\n", ":3:10: timeout must be more than 0"},
		{"duration", stages("rate: 1, duration: soon"), `:3:23: duration is "soon", must be a time such as 500ms`},
		{"seed", good + "seed: -1\n", `seed is "-1", must be a whole number`},
		{"a list for a value", good + "name: [a]\n", ":3:7: name must be a single value"},
		{"threshold", stages("rate: 1, duration: 1s, thresholds: [p99 < 5]"), `:3:40: threshold "p99 < 5": p99 is a time`},
		{"both loops", stages("rate: 1, concurrency: 1, duration: 1s"), "either a rate (open loop) or a concurrency"},
		{"no loop", stages("duration: 1s"), "either a rate (open loop) or a concurrency"},
		{"no end", stages("rate: 1"), "needs an end"},
		{"ramp without a duration", stages("rate: {from: 1, to: 2}, requests: 5"), "a ramp needs a duration"},
		{"ramp of nothing", stages("rate: {from: 0, to: 0}, duration: 1s"), "a ramp has from and to"},
		{"rate", stages("rate: 0, duration: 1s"), `rate is "0", must be a number from 0.001`},
		{"arrivals", stages("rate: 1, duration: 1s, arrivals: poisson"), `arrivals is "poisson", must be random or even`},
		{"arrivals of a closed loop", stages("concurrency: 1, duration: 1s, arrivals: even"), "arrivals are those of a rate"},
		{"outstanding of a closed loop", stages("concurrency: 1, duration: 1s, max_outstanding: 5"), "max_outstanding is for a rate"},
		{"stage timeout", stages("rate: 1, duration: 1s, timeout: 0s"), "timeout must be more than 0"},
		{"warm-up", stages("rate: 1, duration: 1s, warmup: {window: 0s}"), "most and window must be more than 0"},
		{"nothing to send", request("model: x"), "needs images or a tensor"},
		{"both to send", request("images: x, tensor: y"), ":2:23: images and a tensor can't both be sent"},
		{"tensor over HTTP", request("tensor: y"), "a tensor needs a target with protocol: grpc"},
		{"version by classify", request("images: x, version: 1"), "no choice of a version"},
		{"consistent", request("images: x, consistent: maybe"), "consistent must be true or false"},
		{"weight", request("images: x, weight: -1"), `weight is "-1"`},
		{"tenant", request("images: x, tenant: a b"), `:2:23: tenant is "a b", must be 1 to 64 printable ASCII characters without blanks`},
		{"tenant beside another fault", request("tenant: a b"), `tenant is "a b"`},
		{"no model", request("images: x, model: ''"), "model is empty"},
		{"image", request("images: [{a: b}]"), "images must be texts"},
		{"header", request("images: x, headers: {a: [b]}"), "a must be a single value"},
		{"unknown target", request("images: x, target: y"), `target is "y", must be one of`},
		{"protocol", good + "target: {protocol: http}\n", `:3:20: protocol is "http", must be one of classify, rest, grpc`},
		{"target and targets", good + "target: {}\ntargets: {a: {}}\n", "target and targets can't both be given"},
		{"jobs by grpc", request("images: x, jobs: 1") + "target: {protocol: grpc}\n", "jobs are sent over HTTP"},
		{"jobs of tensors", request("tensor: x, jobs: 1") + "target: {protocol: grpc}\n", "jobs are of images"},
		{"labels of tensors", request("tensor: x, consistent: true") + "target: {protocol: grpc}\n", "no labels that could be checked"},
		{"--url", request("images: x, target: a") + "targets: {a: {}, b: {}}\n", "--url is given, but the scenario has 2 targets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var change scenario.Change
			if tt.name == "--url" {
				change.URL = "x"
			}
			_, err := scenario.Read(write(t, tt.text), change)
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

// All that is wrong is said at once, in the order of the file.
func TestAllThatIsWrong(t *testing.T) {
	_, err := scenario.Read(write(t, "requests: [{imags: x}]\nstages: [{rate: x, duration: 1s}]\n"), scenario.Change{})
	lines := strings.Split(failure.Message(err), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], ":1:12: a request needs") || !strings.Contains(lines[1], `:1:13: unknown key "imags"`) || !strings.Contains(lines[2], `:2:17: rate is "x"`) {
		t.Errorf("error:\n%v", err)
	}
}

func TestReadNoFile(t *testing.T) {
	if _, err := scenario.Read("nothing.yaml", scenario.Change{}); failure.KindOf(err) != failure.Invalid || !strings.Contains(err.Error(), "nothing.yaml can't be read") {
		t.Errorf("error = %v", err)
	}
	if _, err := scenario.Read(write(t, strings.Repeat("#\n", 1<<20)), scenario.Change{}); failure.KindOf(err) != failure.TooLarge {
		t.Errorf("error = %v", err)
	}
}
