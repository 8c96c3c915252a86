package main

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triptych/loadtest/compare"
	"triptych/loadtest/report"
	"triptych/loadtest/stage"
	"triptych/loadtest/workload"
	"triptych/shared/config"
	"triptych/shared/failure"
)

const compareHelp = `Compare puts the same load on two servers in turn, in rounds in which chance says who
begins, and prints how many times B's throughput and latencies are A's, each with a
95 % confidence interval (Student's t on the logarithms of the rounds' ratios).
"no difference seen" means that 1 lies within the interval: more rounds, or longer
ones, may show a difference that is small.

Each side is a URL. A side with a start command is started for each of its turns,
in the foreground, and ended by SIGTERM: two servers on one machine do not disturb
each other then. Both sides may have the same URL.`

const compareExamples = `  loadtest compare http://127.0.0.1:8000 http://127.0.0.1:9000 testdata/images --rounds 10
  loadtest compare 127.0.0.1:8001 127.0.0.1:9001 testdata/images --protocol grpc --model-b classify_float32 --expected testdata/expected.json --expected-version-b 1
  loadtest compare 127.0.0.1:8001 127.0.0.1:8001 testdata/images --protocol grpc --start-a 'bin/old up' --start-b 'bin/triptych up'`

// compareFlags are those of a comparison.
type compareFlags struct {
	requestFlags
	loopFlags
	outputFlags
	rounds int
	sides  [2]sideFlags
}

// sideFlags are what a side has of its own; empty for the same as the other.
type sideFlags struct {
	url, start, protocol, model, version, expectedVersion string
}

func defaultCompare() compareFlags {
	f := compareFlags{requestFlags: defaultRequests(), loopFlags: defaultLoop(), rounds: 5}
	f.duration, f.warmup.fixed = defaultDuration, 2*time.Second
	return f
}

func (f *compareFlags) register(fs *pflag.FlagSet) {
	f.registerProtocol(fs)
	for i, name := range []string{"a", "b"} {
		s, side := &f.sides[i], strings.ToUpper(name)
		fs.StringVar(&s.start, "start-"+name, "", "Command of the shell that serves "+side+" in the foreground, started for each turn.")
		fs.StringVar(&s.protocol, "protocol-"+name, "", "Protocol of "+side+", where it is another.")
		fs.StringVar(&s.model, "model-"+name, "", "Model of "+side+", where it is another.")
		fs.StringVar(&s.version, "model-version-"+name, "", "Version of the model of "+side+", where it is another.")
		fs.StringVar(&s.expectedVersion, "expected-version-"+name, "", "Version whose answers are expected of "+side+", where it is another.")
	}
	f.requestFlags.register(fs)
	fs.IntVar(&f.rounds, "rounds", f.rounds, "Turns of each side.")
	f.loopFlags.register(fs, "Time of each turn, without its warm-up.")
	f.outputFlags.register(fs)
}

func (f *compareFlags) validate(fs *pflag.FlagSet) error {
	if f.duration <= 0 {
		return config.Wrong("duration", "is %s, must be more than 0", f.duration)
	}
	for i, name := range []string{"protocol-a", "protocol-b"} {
		if p := f.sides[i].protocol; p != "" {
			if err := checkProtocol(name, p); err != nil {
				return err
			}
		}
	}
	return errors.Join(inRange("rounds", int64(f.rounds), 1, 10_000), f.loopFlags.validate(), f.checkOneLoop(fs), f.requestFlags.validate())
}

// side is the requests of one side.
func (f *compareFlags) side(i, inFlight int) ([]workload.Spec, error) {
	r, s := f.requestFlags, f.sides[i]
	r.Target.URL = s.url
	for _, override := range []struct {
		to    *string
		value string
	}{{(*string)(&r.Target.Protocol), s.protocol}, {&r.Target.Model, s.model}, {&r.Target.Version, s.version}, {&r.ExpectedVersion, s.expectedVersion}} {
		if override.value != "" {
			*override.to = override.value
		}
	}
	return r.specs(inFlight)
}

// newCompare makes the command for two servers.
func (p *program) newCompare() *cobra.Command {
	f := defaultCompare()
	cmd := hidden(&cobra.Command{
		Use:     "compare [flags] URL_A URL_B [IMAGE_OR_FOLDER...]",
		Short:   "Measure two servers in turn and print ratios with their confidence",
		Long:    compareHelp,
		Example: compareExamples,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sides[0].url, f.sides[1].url = args[0], args[1]
			f.Images = append(args[2:], f.Images...)
			if err := f.validate(cmd.Flags()); err != nil {
				return err
			}
			return p.runCompare(&f)
		},
	})
	f.register(cmd.Flags())
	return cmd
}

// open prepares the requests of one side.
func (f *compareFlags) open(i, inFlight int) (compare.Side, error) {
	specs, err := f.side(i, inFlight)
	if err != nil {
		return compare.Side{}, err
	}
	work, err := workload.New(specs, f.seed)
	return compare.Side{Start: f.sides[i].start, Workload: work}, err
}

// closeSides ends the connections, of which some lead to servers that are gone.
func closeSides(sides [2]compare.Side) {
	for _, s := range sides {
		if s.Workload != nil {
			_ = s.Workload.Close()
		}
	}
}

// contactSides makes sure that both servers are there, of those that are not started
// later.
func (p *program) contactSides(f *compareFlags, sides [2]compare.Side) error {
	for i, s := range sides {
		if s.Start != "" {
			continue
		}
		if err := p.contact(f.outputFlags, s.Workload, f.timeout); err != nil {
			return failure.Prefix(compare.SideName(i), err)
		}
	}
	return nil
}

func (p *program) runCompare(f *compareFlags) (err error) {
	file, err := report.Create(f.report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	one := f.stage(f.seed)
	d := report.Comparison{Started: time.Now(), Load: one.Describe(), ErrorsExcused: f.allowErrors}
	var log tail
	plan := compare.Plan{Rounds: f.rounds, Stage: one, Seed: f.seed, Progress: p.progress(f.outputFlags), Log: &log}
	defer func() { closeSides(plan.Sides) }()
	for i := range plan.Sides {
		if plan.Sides[i], err = f.open(i, one.InFlight()); err != nil {
			return err
		}
		d.Requests[i] = strings.Join(plan.Sides[i].Workload.Describe(), "; ")
	}
	if err := p.contactSides(f, plan.Sides); err != nil {
		return err
	}
	d.Rounds, err = plan.Run(p.ctx, func(round, side int, r stage.Result) { p.say(report.TurnText(round, side, r)) })
	if err != nil {
		_, _ = io.WriteString(p.stderr, log.String())
		return err
	}
	d.Interrupted = p.ctx.Err() != nil
	if d.Differences, err = compare.Differences(d.Rounds); err != nil {
		return err
	}
	return p.finish(file, d)
}
