package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"triptych/loadtest/measure"
	"triptych/loadtest/report"
	"triptych/loadtest/scenario"
	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
	"triptych/loadtest/workload"
)

const runHelp = `Run follows a scenario file: what is sent (sorts of requests, mixed by weight), in
which stages (a rate, a ramp between two, or a concurrency), and what must be kept.
docs/loadtest.md describes the file; loadtest/scenarios has examples.

Exit status: 0 if all conditions are met and there were no errors, 1 otherwise, 2 if
the test could not be run. A condition about errors, of a stage or of the whole, says
what errors are allowed: without one there must be none, or --allow-errors. That flag
excuses no condition.`

// newRun makes the command for scenarios.
func (p *program) newRun() *cobra.Command {
	var out outputFlags
	var change scenario.Change
	cmd := hidden(&cobra.Command{
		Use:     "run [flags] SCENARIO.yaml",
		Short:   "Run a scenario of stages, mixes and conditions",
		Long:    runHelp,
		Example: "  loadtest run loadtest/scenarios/steps.yaml --report steps.html",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.runScenario(args[0], change, out) },
	})
	cmd.Flags().StringVar(&change.URL, "url", "", "Server in place of the one that the file names.")
	out.register(cmd.Flags())
	out.registerMetrics(cmd.Flags())
	return cmd
}

func (p *program) runScenario(name string, change scenario.Change, out outputFlags) error {
	s, err := scenario.Read(name, change)
	if err != nil {
		return err
	}
	return p.send(out, s.Requests, s.Seed, longestTimeout(s), func(work *workload.Workload, probes *probes) report.Document {
		d := report.Scenario{
			Name: s.Name, About: s.About, File: name, Started: time.Now(), Requests: work.Describe(),
			ErrorsAllowed: errorsAllowed(s), ErrorsExcused: out.allowErrors,
		}
		timeline := measure.NewTimeline()
		p.runStages(s, stage.Runner{
			Workload: work, Progress: p.progress(out), Whole: measure.NewRecorderOn(timeline), Timeline: timeline, Begin: func() { probes.begin(p.ctx) },
		}, &d)
		d.Intervals, d.Usage = timeline.Intervals(), probes.end(p.ctx)
		return d
	})
}

// longestTimeout is that of a first request.
func longestTimeout(s scenario.Scenario) time.Duration {
	var longest time.Duration
	for _, one := range s.Stages {
		longest = max(longest, one.Timeout)
	}
	return longest
}

// runStages runs all stages, and sums them up.
func (p *program) runStages(s scenario.Scenario, runner stage.Runner, d *report.Scenario) {
	var elapsed time.Duration
	for _, one := range s.Stages {
		if p.ctx.Err() != nil {
			break
		}
		result := runner.Run(p.ctx, one)
		elapsed += result.Result.Elapsed
		d.Stages = append(d.Stages, result)
	}
	d.Interrupted = p.ctx.Err() != nil
	d.Whole, d.Percentiles = runner.Whole.Result(), runner.Whole.Percentiles()
	d.Whole.Elapsed = elapsed // without warm-ups
	d.Verdicts = threshold.All(s.Thresholds, threshold.Facts{Result: d.Whole, Percentile: runner.Whole.Percentile})
}

// errorsAllowed tells whether a condition says what errors are allowed.
func errorsAllowed(s scenario.Scenario) bool {
	return slices.ContainsFunc(s.Thresholds, threshold.Threshold.AboutErrors) ||
		slices.ContainsFunc(s.Stages, func(one stage.Stage) bool {
			return slices.ContainsFunc(one.Thresholds, threshold.Threshold.AboutErrors)
		})
}
