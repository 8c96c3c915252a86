package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/report"
	"triptych/loadtest/sample"
	"triptych/loadtest/target"
	"triptych/loadtest/verify"
	"triptych/shared/failure"
)

// runTest runs the warm-up and the test and writes the reports. It passes when
// there were answers and no errors.
func runTest(ctx context.Context, s *settings, stdout, stderr io.Writer) (passed bool, err error) {
	file, err := createReport(s.report)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sender, items, err := newTarget(s)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	plan := s.plan(items)
	t := test{settings: s, target: sender, progress: newProgress(s, stderr)}
	r := report.Report{Started: time.Now(), Settings: s.describe(plan)}
	if s.warmup > 0 {
		r.Warmup = t.phase(ctx, "warm-up", load.Plan{Duration: s.warmup, Timeout: s.timeout, Items: items})
	}
	before := measure.CPUTime()
	r.Result = t.phase(ctx, "test", plan)
	r.CPU = measure.CPUTime() - before
	r.Interrupted = ctx.Err() != nil
	return r.Result.Answered > 0 && r.Result.Errors == 0, errors.Join(r.Text(stdout), r.JSON(file))
}

// newTarget gives what is to be sent to, and how many items it has.
func newTarget(s *settings) (t target.Target, items int, err error) {
	if s.tensor != "" {
		spec, err := sample.ParseTensor(s.tensor, s.batch)
		if err != nil {
			return nil, 0, err
		}
		tensors, err := sample.Tensors(spec, s.contents, s.seed)
		if err != nil {
			return nil, 0, err
		}
		t, err = target.NewTensors(s.targetOptions(), tensors, nil)
		return t, len(tensors), err
	}
	images, err := sample.Read(s.images...)
	if err != nil {
		return nil, 0, err
	}
	sender, err := target.New(s.targetOptions(), images)
	if err != nil {
		return nil, 0, err
	}
	checks, err := withChecks(s, sender, images)
	if err != nil {
		return nil, 0, errors.Join(err, sender.Close())
	}
	return checked{checks, sender}, len(images), nil
}

// checked is a target behind its checks.
type checked struct {
	load.Target
	io.Closer
}

// withChecks decorates the target with the checks that were asked for.
func withChecks(s *settings, t load.Target, images []sample.Image) (load.Target, error) {
	names := make([]string, len(images))
	for i, image := range images {
		names[i] = image.Name
	}
	if s.expected != "" {
		want, err := verify.ReadExpected(s.expected, s.expectedVersion, names)
		if err != nil {
			return nil, err
		}
		t = verify.FirstLabel(t, names, want)
	}
	if s.verifyConsistent {
		t = verify.Consistent(t, names)
	}
	return t, nil
}

// test is what the phases have in common.
type test struct {
	settings *settings
	target   load.Target
	progress *report.Progress
}

func (t *test) phase(ctx context.Context, name string, plan load.Plan) measure.Result {
	recorder := measure.NewRecorder()
	defer t.progress.Watch(name, recorder)()
	if s := t.settings; s.open() {
		load.Open(ctx, plan, load.Arrivals{Rate: s.rate, MaxOutstanding: s.maxOutstanding, Seed: s.seed, Exact: true}, t.target, recorder)
	} else {
		load.Closed(ctx, plan, s.concurrency, t.target, recorder)
	}
	return recorder.Result()
}

func newProgress(s *settings, stderr io.Writer) *report.Progress {
	if s.quiet {
		return report.NewProgress(io.Discard, false)
	}
	return report.NewProgress(stderr, isTerminal(stderr))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// createReport makes the file for the JSON before the test, for a test may take
// an hour. Without a name the JSON goes nowhere.
func createReport(name string) (io.WriteCloser, error) {
	if name == "" {
		return discard{io.Discard}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--report %s can't be written", name)
	}
	return f, nil
}

// discard is a file that keeps nothing.
type discard struct{ io.Writer }

// Close does nothing.
func (discard) Close() error { return nil }
