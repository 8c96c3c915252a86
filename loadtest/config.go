package main

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/load"
	"triptych/loadtest/report"
	"triptych/loadtest/stage"
	"triptych/loadtest/target"
	"triptych/loadtest/workload"
	"triptych/shared/config"
	"triptych/shared/failure"
)

// defaultDuration ends a test that has no end of its own, a turn and a step.
const defaultDuration = 10 * time.Second

// loopFlags say how requests are sent.
type loopFlags struct {
	concurrency    int
	rate           float64
	maxOutstanding int
	even           bool
	duration       time.Duration
	warmup         warmupFlag
	timeout        time.Duration
}

// defaultLoop is a closed loop whose warm-up, if it is automatic, takes the usual time.
func defaultLoop() loopFlags {
	return loopFlags{concurrency: 8, maxOutstanding: stage.Outstanding, timeout: stage.Timeout, warmup: warmupFlag{most: stage.AutoMost}}
}

// register adds the flags. What a duration ends is said by duration.
func (l *loopFlags) register(fs *pflag.FlagSet, duration string) {
	fs.IntVar(&l.concurrency, "concurrency", l.concurrency, "Closed loop: requests in flight.")
	fs.Float64Var(&l.rate, "rate", l.rate, "Open loop: mean requests a second, at random times. 0 for a closed loop.")
	l.registerCommon(fs, duration)
}

// registerCommon adds the flags that a search has too.
func (l *loopFlags) registerCommon(fs *pflag.FlagSet, duration string) {
	fs.IntVar(&l.maxOutstanding, "max-outstanding", l.maxOutstanding, "Open loop: requests in flight at most. What is due beyond is not sent and counts as an error.")
	fs.BoolVar(&l.even, "even", l.even, "Open loop: send at even distances in place of random times.")
	fs.DurationVar(&l.duration, "duration", l.duration, duration)
	fs.Var(&l.warmup, "warmup", "Send for this time first, without measuring; auto for until the server is steady.")
	fs.DurationVar(&l.warmup.most, "warmup-most", l.warmup.most, "Longest time that --warmup auto takes.")
	fs.DurationVar(&l.timeout, "timeout", l.timeout, "Longest time for one request.")
}

// validate checks them.
func (l *loopFlags) validate() error {
	if err := inRange("concurrency", int64(l.concurrency), 1, load.MaxInFlight); err != nil {
		return err
	}
	if err := inRange("max-outstanding", int64(l.maxOutstanding), 1, load.MaxInFlight); err != nil {
		return err
	}
	switch {
	case l.rate != 0 && !(l.rate >= load.MinRate && l.rate <= load.MaxRate):
		return config.Wrong("rate", "is %g, must be from %g to %g, or 0", l.rate, load.MinRate, float64(load.MaxRate))
	case l.duration < 0:
		return config.Wrong("duration", "is %s, must be 0 or more", l.duration)
	case l.warmup.fixed < 0:
		return config.Wrong("warmup", "is %s, must be 0 or more, or auto", l.warmup.fixed)
	case l.warmup.most <= 0:
		return config.Wrong("warmup-most", "is %s, must be more than 0", l.warmup.most)
	case l.timeout <= 0:
		return config.Wrong("timeout", "is %s, must be more than 0", l.timeout)
	default:
		return nil
	}
}

// checkOneLoop refuses a rate and a concurrency together.
func (l *loopFlags) checkOneLoop(fs *pflag.FlagSet) error {
	if fs.Changed("rate") && l.rate > 0 && fs.Changed("concurrency") {
		return config.Wrong("rate", "and --concurrency can't both be given: one is an open loop, the other a closed one")
	}
	return nil
}

// stage is the load without a name.
func (l *loopFlags) stage(seed uint64) stage.Stage {
	s := stage.Stage{Duration: l.duration, Timeout: l.timeout, Warmup: l.warmup.stage()}
	if l.rate > 0 {
		s.Arrivals = load.Arrivals{Rate: l.rate, MaxOutstanding: l.maxOutstanding, Even: l.even, Seed: seed, Exact: true}
		return s
	}
	s.Concurrency = l.concurrency
	return s
}

// inRange checks a flag that is a whole number.
func inRange(flag string, value, least, most int64) error {
	if value < least || value > most {
		return config.Wrong(flag, "is %d, must be from %d to %d", value, least, most)
	}
	return nil
}

// warmupFlag is a time, or auto.
type warmupFlag struct {
	fixed, most time.Duration
	auto        bool
}

var _ pflag.Value = (*warmupFlag)(nil)

// String implements pflag.Value.
func (w *warmupFlag) String() string {
	if w.auto {
		return "auto"
	}
	return w.fixed.String()
}

// Set implements pflag.Value.
func (w *warmupFlag) Set(text string) (err error) {
	if w.auto = text == "auto"; w.auto {
		return nil
	}
	w.fixed, err = time.ParseDuration(text)
	return err
}

// Type implements pflag.Value.
func (w *warmupFlag) Type() string { return "duration|auto" }

func (w *warmupFlag) stage() stage.Warmup {
	if !w.auto {
		return stage.Warmup{Duration: w.fixed}
	}
	auto := stage.Automatic()
	auto.Duration = w.most
	return auto
}

// settings are the flags of the command without a name: one load.
type settings struct {
	requestFlags
	loopFlags
	outputFlags
	requests int64
}

var _ config.Section = (*settings)(nil)

func defaultSettings() settings {
	return settings{requestFlags: defaultRequests(), loopFlags: defaultLoop()}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.requestFlags.registerTarget(fs)
	s.requestFlags.register(fs)
	s.loopFlags.register(fs, "End after this time. 0 for no such end; without either the test takes "+defaultDuration.String()+".")
	fs.Int64Var(&s.requests, "requests", s.requests, "End after so many requests. 0 for no such end.")
	s.outputFlags.register(fs)
	s.registerMetrics(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := inRange("requests", s.requests, 0, math.MaxInt64); err != nil {
		return err
	}
	if err := s.loopFlags.validate(); err != nil {
		return err
	}
	if s.scenario != "" {
		return failure.New(failure.Invalid, "--scenario is for search and compare: run a scenario by loadtest run")
	}
	return s.requestFlags.validate()
}

// stage is the one stage of the test.
func (s *settings) stage() stage.Stage {
	one := s.loopFlags.stage(s.seed)
	one.Name, one.Requests = "test", s.requests
	if one.Requests == 0 && one.Duration == 0 {
		one.Duration = defaultDuration
	}
	return one
}

// describe is the settings as the report has them.
func (s *settings) describe(spec workload.Spec, one stage.Stage, items int) report.Settings {
	d := report.Settings{
		Protocol: string(spec.Target.Protocol), URL: target.Address(spec.Target), Model: spec.Target.Model, Version: spec.Target.Version, Images: items,
		Loop: report.Closed, Concurrency: one.Concurrency,
		Requests: one.Requests, DurationSeconds: one.Duration.Seconds(),
		WarmupSeconds: one.Warmup.Duration.Seconds(), WarmupAuto: one.Warmup.Auto,
		TimeoutSeconds: one.Timeout.Seconds(), DeadlineSeconds: spec.Deadline.Seconds(),
		Priority: spec.Target.Priority, Tenant: spec.Target.Tenant, JobItems: spec.JobItems,
		Expected: spec.Expected, VerifyConsistent: spec.Consistent,
	}
	if one.Open() {
		d.Loop, d.Rate, d.MaxOutstanding, d.Seed = report.Open, s.rate, s.maxOutstanding, s.seed
	}
	if spec.Target.Protocol == target.GRPC {
		d.Connections = spec.Target.Connections
	}
	if spec.Tensor != "" {
		d.Images, d.Tensor = 0, workload.TensorText(spec, items)
	}
	if spec.Expected != "" {
		d.ExpectedVersion = spec.ExpectedVersion
	}
	return d
}
