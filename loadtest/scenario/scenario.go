// Package scenario reads a load test from a YAML file: what is sent, in which
// stages, and what must be kept. It is strict: a key that nobody knows is an error
// with its line, for a misspelt condition that is never checked is worse than none.
package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"triptych/loadtest/load"
	"triptych/loadtest/stage"
	"triptych/loadtest/target"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
	"triptych/shared/failure"
)

// What can sensibly be asked for of one file.
const (
	maxBytes  = 1 << 20
	maxStages = 1000
	maxSorts  = 100
)

// Scenario is a load test.
type Scenario struct {
	// Name and About are for the reader of a report.
	Name, About string
	// Requests are the sorts of requests, mixed by weight.
	Requests []workload.Spec
	// Stages are run one after another.
	Stages []stage.Stage
	// Thresholds are for all stages together.
	Thresholds []threshold.Threshold
	// Seed makes the same load again.
	Seed uint64
}

// Change is what a command line puts in place of what a file says.
type Change struct {
	// URL is that of the file's only target; empty for no change.
	URL string
}

// Read reads a file. Paths in it start from its folder. An error of Kind Invalid
// has a line for each thing that is wrong, with its place.
func Read(file string, change Change) (Scenario, error) {
	data, err := read(file)
	if err != nil {
		return Scenario{}, err
	}
	return parse(file, data, change)
}

func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxBytes {
		return nil, failure.New(failure.TooLarge, "scenario %s has more than %d bytes", file, maxBytes)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "scenario %s can't be read", file)
	}
	return data, nil
}

// parse reads the text of a file.
func parse(file string, data []byte, change Change) (Scenario, error) {
	var document yaml.Node
	if err := yaml.Load(data, &document); err != nil {
		return Scenario{}, failure.New(failure.Invalid, "scenario %s is not YAML: %s", file, err)
	}
	root := &document
	if document.Kind == yaml.DocumentNode {
		root = document.Content[0]
	}
	src := &source{name: file}
	r := reader{object: src.object(root, "a scenario"), folder: filepath.Dir(file), timeout: stage.Timeout, outstanding: stage.Outstanding}
	s := r.scenario(change)
	return s, src.err()
}

// reader reads the parts of a scenario.
type reader struct {
	*object
	folder      string
	targets     map[string]target.Options
	timeout     time.Duration
	outstanding int
}

func (r *reader) scenario(change Change) Scenario {
	s := Scenario{Name: strings.TrimSuffix(filepath.Base(r.name), filepath.Ext(r.name)), Seed: 1}
	r.text("name", &s.Name)
	r.text("about", &s.About)
	whole(r.object, "seed", &s.Seed, 0, 1<<62)
	r.duration("timeout", &r.timeout)
	if r.timeout == 0 {
		r.say(r.place("timeout"), "timeout must be more than 0")
	}
	whole(r.object, "max_outstanding", &r.outstanding, 1, load.MaxInFlight)
	r.readTargets(change)
	r.each("requests", func(node *yaml.Node) { s.Requests = append(s.Requests, r.request(node)) })
	r.each("stages", func(node *yaml.Node) { s.Stages = append(s.Stages, r.stage(node, len(s.Stages)+1, s.Seed)) })
	s.Thresholds = r.thresholds(r.object)
	r.done()
	r.sizes(s)
	inFlight := 1
	for _, stage := range s.Stages {
		inFlight = max(inFlight, stage.InFlight())
	}
	for i := range s.Requests {
		s.Requests[i].Target.InFlight = inFlight
	}
	return s
}

// sizes checks that there is something of all, and not too much.
func (r *reader) sizes(s Scenario) {
	if len(s.Requests) == 0 || len(s.Requests) > maxSorts {
		r.say(r.at, "a scenario has from 1 to %d requests, not %d", maxSorts, len(s.Requests))
	}
	if len(s.Stages) == 0 || len(s.Stages) > maxStages {
		r.say(r.at, "a scenario has from 1 to %d stages, not %d", maxStages, len(s.Stages))
	}
}

// readTargets reads target, or targets by name.
func (r *reader) readTargets(change Change) {
	r.targets = map[string]target.Options{}
	if node, ok := r.field("target"); ok {
		r.targets[""] = r.target(node)
	}
	node, several := r.field("targets")
	switch {
	case several && r.has("target"):
		r.say(node, "target and targets can't both be given")
	case several:
		named := r.source.object(node, "targets")
		for _, key := range named.keys {
			r.targets[key.Value] = r.target(named.fields[key.Value])
		}
	case !r.has("target"):
		r.targets[""] = workload.Default().Target
	}
	if change.URL == "" {
		return
	}
	if len(r.targets) > 1 {
		r.say(r.at, "--url is given, but the scenario has %d targets", len(r.targets))
	}
	for name, t := range r.targets {
		t.URL = change.URL
		r.targets[name] = t
	}
}

func (r *reader) target(node *yaml.Node) target.Options {
	o := r.source.object(node, "a target")
	t := workload.Default().Target
	o.text("url", &t.URL)
	o.text("protocol", (*string)(&t.Protocol))
	if !slices.Contains(target.Protocols(), string(t.Protocol)) {
		r.say(o.place("protocol"), "protocol is %q, must be one of %s", string(t.Protocol), strings.Join(target.Protocols(), ", "))
	}
	whole(o, "connections", &t.Connections, 1, workload.MaxConnections)
	t.Headers = o.pairs("headers")
	o.done()
	return t
}

func (r *reader) thresholds(o *object) (list []threshold.Threshold) {
	o.each("thresholds", func(node *yaml.Node) {
		t, err := threshold.Parse(node.Value)
		if err != nil {
			r.say(node, "%s", failure.Message(err))
			return
		}
		list = append(list, t)
	})
	return list
}
