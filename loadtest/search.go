package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triptych/loadtest/load"
	"triptych/loadtest/report"
	"triptych/loadtest/search"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
	"triptych/shared/config"
)

const searchHelp = `Search looks for the highest rate at which all conditions are kept: it doubles the
rate until one is not, then halves the distance between what was kept and what was
not, until they are as close as --precision. Each step warms up until the server is
steady, then measures for --duration, longer at a low rate so that percentiles have
enough requests (--duration-most). A rate counts as not kept when it fails --tries
times in a row, so that a pause of the machine does not decide. Without a condition about errors there must be
fewer than 0.1 %.

With --capacity it looks for the greatest throughput instead: a closed loop whose
concurrency doubles until throughput grows by less than --gain in two steps.`

const searchExamples = `  loadtest search testdata/images --keep 'p99 < 200ms'
  loadtest search testdata/images --protocol grpc --keep 'p99.9 < 1s' --keep 'errors == 0' --from 20
  loadtest search testdata/images --capacity`

// searchFlags are those of a search.
type searchFlags struct {
	requestFlags
	loopFlags
	outputFlags
	keep      []string
	capacity  bool
	from      float64
	most      float64
	precision float64
	gain      float64
	steps     int
	tries     int
	longest   time.Duration
}

func defaultSearch() searchFlags {
	f := searchFlags{
		requestFlags: defaultRequests(), loopFlags: defaultLoop(),
		precision: 0.05, gain: 0.05, steps: 30, tries: 2, longest: time.Minute,
	}
	f.duration, f.warmup = defaultDuration, warmupFlag{auto: true, most: 10 * time.Second}
	return f
}

func (f *searchFlags) register(fs *pflag.FlagSet) {
	f.registerTarget(fs)
	f.requestFlags.register(fs)
	fs.StringArrayVar(&f.keep, "keep", nil, "Condition such as 'p99 < 200ms'. May be given again. Of: "+threshold.Names()+".")
	fs.BoolVar(&f.capacity, "capacity", f.capacity, "Look for the greatest throughput, in a closed loop.")
	fs.Float64Var(&f.from, "from", f.from, "First rate, or first concurrency. 0 for 10 requests a second, or for 1 in flight.")
	fs.Float64Var(&f.most, "most", f.most, "Highest rate or concurrency that is tried. 0 for 100000 requests a second, or for 1024 in flight.")
	fs.Float64Var(&f.precision, "precision", f.precision, "How close the search comes to the limit, as a part of it.")
	fs.Float64Var(&f.gain, "gain", f.gain, "Capacity: by which part throughput must grow to count as growth.")
	fs.IntVar(&f.steps, "steps", f.steps, "Most rates that are tried.")
	fs.IntVar(&f.tries, "tries", f.tries, "How often in a row a rate must fail to count as one that is not kept.")
	f.registerCommon(fs, "Time of each step, without its warm-up.")
	fs.DurationVar(&f.longest, "duration-most", f.longest, "Longest time of a step that is lengthened for a low rate.")
	f.outputFlags.register(fs)
}

// validate checks them, and gives what is not said its default.
func (f *searchFlags) validate() error {
	from, most, bound := 10.0, 100_000.0, float64(load.MaxRate)
	if f.capacity {
		from, most, bound = 1, 1024, load.MaxInFlight
	}
	f.from, f.most = cmp.Or(f.from, from), cmp.Or(f.most, most)
	switch {
	case !(f.from >= load.MinRate) || f.capacity && f.from < 1:
		return config.Wrong("from", "is %g, must be more", f.from)
	case !(f.most >= f.from && f.most <= bound):
		return config.Wrong("most", "is %g, must be from %g to %g", f.most, f.from, bound)
	case !(f.precision > 0 && f.precision <= 1):
		return config.Wrong("precision", "is %g, must be more than 0 and at most 1", f.precision)
	case !(f.gain > 0 && f.gain <= 1):
		return config.Wrong("gain", "is %g, must be more than 0 and at most 1", f.gain)
	case f.duration <= 0:
		return config.Wrong("duration", "is %s, must be more than 0", f.duration)
	case f.capacity && len(f.keep) > 0:
		return config.Wrong("keep", "is for a rate: a capacity has no condition")
	case !f.capacity && len(f.keep) == 0:
		return config.Wrong("keep", "is missing: say what must be kept, such as --keep 'p99 < 200ms', or give --capacity")
	}
	return errors.Join(inRange("steps", int64(f.steps), 1, 1000), inRange("tries", int64(f.tries), 1, 100), f.loopFlags.validate(), f.requestFlags.validate())
}

// conditions are what is to be kept.
func (f *searchFlags) conditions() ([]threshold.Threshold, error) {
	var list []threshold.Threshold
	for _, text := range f.keep {
		t, err := threshold.Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if f.capacity || slices.ContainsFunc(list, threshold.Threshold.AboutErrors) {
		return list, nil
	}
	few, err := threshold.Parse("errors < 0.1%")
	return append(list, few), err
}

// newSearch makes the command for limits.
func (p *program) newSearch() *cobra.Command {
	f := defaultSearch()
	cmd := hidden(&cobra.Command{
		Use:     "search [flags] [IMAGE_OR_FOLDER...]",
		Short:   "Look for the highest rate that keeps conditions, or for the capacity",
		Long:    searchHelp,
		Example: searchExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			f.Images = append(args, f.Images...)
			if err := f.validate(); err != nil {
				return err
			}
			return p.runSearch(&f)
		},
	})
	f.register(cmd.Flags())
	return cmd
}

func (p *program) runSearch(f *searchFlags) error {
	conditions, err := f.conditions()
	if err != nil {
		return err
	}
	inFlight := f.maxOutstanding
	if f.capacity {
		inFlight = int(f.most)
	}
	specs, err := f.specs(inFlight)
	if err != nil {
		return err
	}
	return p.send(f.outputFlags, specs, f.seed, f.timeout, func(work *workload.Workload, _ *probes) report.Document {
		d := report.Search{Started: time.Now(), Requests: work.Describe()}
		for _, c := range conditions {
			d.Conditions = append(d.Conditions, c.String())
		}
		for _, line := range d.Requests {
			p.say(line)
		}
		runner := stage.Runner{Workload: work, Progress: p.progress(f.outputFlags)}
		if f.capacity {
			p.capacity(f, runner, &d)
		} else {
			p.highest(f, runner, conditions, &d)
		}
		return d
	})
}

// highest searches for a rate.
func (p *program) highest(f *searchFlags, runner stage.Runner, conditions []threshold.Threshold, d *report.Search) {
	runner.Hopeless = search.Hopeless
	f.rate = f.from
	one := f.stage(f.seed)
	one.Thresholds = conditions
	r := search.Rate{From: f.from, Least: load.MinRate, Most: f.most, Precision: f.precision, Steps: f.steps, Tries: f.tries, Stage: one, LongestStep: f.longest}
	p.warnOfTime(f.outputFlags, r.Longest())
	answer := r.Search(p.ctx, runner.Run, func(s search.Step) { p.say(report.StepText(s)) })
	d.Steps, d.Best, d.Interrupted = answer.Steps, answer.Best, answer.Interrupted
	switch {
	case answer.Best == 0:
		d.Found = fmt.Sprintf("no rate keeps the conditions: the lowest that was tried is %.4g/s", answer.Worst)
	case answer.Worst == 0:
		d.Found = fmt.Sprintf("%.4g requests a second keep the conditions; none that was tried does not", answer.Best)
	default:
		d.Found = fmt.Sprintf("%.4g requests a second keep the conditions, %.4g do not", answer.Best, answer.Worst)
	}
}

// capacity searches for the greatest throughput.
func (p *program) capacity(f *searchFlags, runner stage.Runner, d *report.Search) {
	c := search.Capacity{From: int(f.from), Most: int(f.most), Gain: f.gain, Stage: f.stage(f.seed)}
	p.warnOfTime(f.outputFlags, c.Longest())
	limit := c.Search(p.ctx, runner.Run, func(s search.Step) { p.say(report.StepText(s)) })
	d.Steps, d.Best, d.Interrupted = limit.Steps, limit.Throughput, limit.Interrupted
	d.Found = fmt.Sprintf("capacity %.1f answers a second, reached with %g in flight (%s)", limit.Throughput, limit.Knee.Load,
		report.LatencyText(limit.Knee.Result.Result.Latency))
	if limit.Grew && !limit.Interrupted {
		d.Found += "; it still grew at the highest concurrency that was tried"
	}
}
