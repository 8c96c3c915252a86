package scenario

import (
	"math"
	"strconv"

	"go.yaml.in/yaml/v4"

	"triptych/loadtest/load"
	"triptych/loadtest/stage"
)

// stage reads one stage.
func (r *reader) stage(node *yaml.Node, number int, seed uint64) stage.Stage {
	o := r.source.object(node, "a stage")
	s := stage.Stage{Name: "stage " + strconv.Itoa(number), Timeout: r.timeout}
	a := load.Arrivals{MaxOutstanding: r.outstanding, Seed: seed + uint64(number), Exact: true}
	o.text("name", &s.Name)
	o.duration("duration", &s.Duration)
	whole(o, "requests", &s.Requests, 1, math.MaxInt64)
	whole(o, "concurrency", &s.Concurrency, 1, load.MaxInFlight)
	whole(o, "max_outstanding", &a.MaxOutstanding, 1, load.MaxInFlight)
	o.duration("timeout", &s.Timeout)
	r.rate(o, &a)
	r.arrivals(o, &a)
	s.Warmup = r.warmup(o)
	s.Thresholds = r.thresholds(o)
	o.done()
	r.checkStage(o, s, a)
	if s.Concurrency == 0 {
		s.Arrivals = a
	}
	return s
}

// checkStage says what does not go together.
func (r *reader) checkStage(o *object, s stage.Stage, a load.Arrivals) {
	switch {
	case o.has("rate") == o.has("concurrency"):
		r.say(o.at, "a stage has either a rate (open loop) or a concurrency (closed loop)")
	case s.Duration == 0 && s.Requests == 0:
		r.say(o.at, "a stage needs an end: a duration or a number of requests")
	case a.Ramp && s.Duration == 0:
		r.say(o.place("rate"), "a ramp needs a duration")
	case s.Timeout == 0:
		r.say(o.place("timeout"), "timeout must be more than 0")
	case o.has("concurrency") && o.has("max_outstanding"):
		r.say(o.place("max_outstanding"), "max_outstanding is for a rate: a concurrency is its own bound")
	case o.has("concurrency") && o.has("arrivals"):
		r.say(o.place("arrivals"), "arrivals are those of a rate")
	}
}

// rate reads a number, or from and to of a ramp.
func (r *reader) rate(o *object, a *load.Arrivals) {
	node, ok := o.field("rate")
	if !ok {
		return
	}
	if node.Kind == yaml.ScalarNode {
		a.Rate = r.parse(node, "rate", load.MinRate, load.MaxRate)
		return
	}
	ramp := r.source.object(node, "rate")
	a.Ramp = true
	ramp.number("from", &a.Rate, 0, load.MaxRate)
	ramp.number("to", &a.Until, 0, load.MaxRate)
	ramp.done()
	if !ramp.has("from") || !ramp.has("to") || a.Rate+a.Until < load.MinRate {
		r.say(node, "a ramp has from and to, of which one is more than 0")
	}
}

// arrivals reads how requests of an open loop are spaced.
func (r *reader) arrivals(o *object, a *load.Arrivals) {
	node, ok := o.scalar("arrivals")
	switch {
	case !ok || node.Value == "random":
	case node.Value == "even":
		a.Even = true
	default:
		r.say(node, "arrivals is %q, must be random or even", node.Value)
	}
}

// warmup reads a time, auto, or the bounds of auto.
func (r *reader) warmup(o *object) stage.Warmup {
	node, ok := o.field("warmup")
	switch {
	case !ok:
		return stage.Warmup{}
	case node.Kind == yaml.ScalarNode && node.Value == "auto":
		return stage.Automatic()
	case node.Kind == yaml.ScalarNode:
		return stage.Warmup{Duration: r.time(node, "warmup")}
	}
	w := stage.Automatic()
	auto := r.source.object(node, "warmup")
	auto.duration("most", &w.Duration)
	auto.duration("window", &w.Window)
	auto.done()
	if w.Window == 0 || w.Duration == 0 {
		r.say(node, "most and window must be more than 0")
	}
	return w
}
