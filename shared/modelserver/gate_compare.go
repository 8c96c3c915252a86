package modelserver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// comparison is a new version held against one that serves.
type comparison struct {
	old, fresh *version
	settings   gateSettings
	outputs    []*outputDrift
	skipped    int
}

// compareVersions is nil when the new version may take traffic.
func compareVersions(ctx context.Context, old, fresh *version) *mismatch {
	settings, err := readGate(fresh.config)
	if err != nil {
		return &mismatch{refusedSamples, failure.Message(err), err}
	}
	if !settings.on {
		fresh.logger.Info("version not compared", "compared_with", old.number, "gate", "off")
		return nil
	}
	if why := compareSignatures(old.config, fresh.config); why != nil {
		return why
	}
	if old.hold() != nil {
		return nil // it has left service meanwhile: there is nothing to break
	}
	defer old.release()
	sampler, ok := fresh.model.(Sampler)
	if !ok {
		return nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, settings.timeout)
	defer cancel()
	c := &comparison{old: old, fresh: fresh, settings: settings}
	samples, err := takeSamples(ctx, sampler)
	if err != nil {
		return &mismatch{refusedSamples, "there are no samples: " + failure.Message(err), err}
	}
	if why := c.compare(ctx, samples); why != nil {
		return why
	}
	c.log(len(samples), time.Since(start))
	return nil
}

func takeSamples(ctx context.Context, s Sampler) (samples []Sample, err error) {
	defer caught(&err, "the model broke")
	return s.Samples(ctx)
}

func (c *comparison) compare(ctx context.Context, samples []Sample) *mismatch {
	for i, sample := range samples {
		why := c.compareOn(ctx, sample)
		if ctx.Err() != nil {
			return &mismatch{refusedTimeout, fmt.Sprintf("after %s (gate_timeout_seconds), %d of %d samples are compared", c.settings.timeout, i, len(samples)), ctx.Err()}
		}
		if why != nil {
			return why
		}
	}
	for _, out := range c.outputs {
		if why := out.beyond(c.settings); why != nil {
			return why
		}
	}
	return nil
}

// compareOn asks both. A sample that the serving version can't answer says
// nothing about the new one.
func (c *comparison) compareOn(ctx context.Context, sample Sample) *mismatch {
	before, err := ask(ctx, c.old, sample.Request)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		c.skipped++
		c.fresh.logger.Warn("sample skipped", "sample", sample.Name, "failed_on", c.old.number, "error", err)
		return nil
	}
	now, err := ask(ctx, c.fresh, sample.Request)
	if err != nil {
		return &mismatch{refusedFailed, fmt.Sprintf("sample %q fails: %s", sample.Name, failure.Message(err)), err}
	}
	for _, out := range before.GetOutputs() {
		if why := c.compareOutput(sample.Name, out.GetName(), before, now); why != nil {
			return why
		}
	}
	return nil
}

func (c *comparison) compareOutput(sample, name string, before, now *inference.ModelInferResponse) *mismatch {
	was, ok := oip.Output(before, name)
	if !ok {
		return nil // no raw contents: the door would have refused it as well
	}
	is, ok := oip.Output(now, name)
	switch {
	case !ok:
		return signature("sample %q: output %q is missing", sample, name)
	case was.Datatype != is.Datatype || !oip.Fits(is.Shape, was.Shape):
		return signature("sample %q: output %q was %s %s, is now %s %s", sample, name,
			was.Datatype, oip.FormatShape(was.Shape), is.Datatype, oip.FormatShape(is.Shape))
	}
	return c.drift(name).add(sample, was, is)
}

// drift is what is known of an output so far.
func (c *comparison) drift(name string) *outputDrift {
	for _, out := range c.outputs {
		if out.name == name {
			return out
		}
	}
	out := &outputDrift{name: name, batching: c.fresh.config.GetMaxBatchSize() > 0}
	for i, o := range c.fresh.config.GetOutput() {
		if o.GetName() == name {
			out.place = i
		}
	}
	c.outputs = append(c.outputs, out)
	return out
}

func (c *comparison) log(samples int, took time.Duration) {
	farthest, agreement := 0.0, 1.0
	for _, out := range c.outputs {
		farthest, agreement = max(farthest, out.rel), min(agreement, out.agreement())
	}
	level := slog.LevelInfo
	if c.skipped == samples {
		level = slog.LevelWarn // it was compared by its configuration only
	}
	c.fresh.logger.Log(context.Background(), level, "version compared", "compared_with", c.old.number, "samples", samples,
		"skipped", c.skipped, "largest_rel_drift", farthest, "least_top1_agreement", agreement, "seconds", took.Seconds())
}

// ask puts a sample to a version, past its statistics and its cache. A version
// that is too busy is asked again: a release should not fail for its traffic.
func ask(ctx context.Context, v *version, sample *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	for {
		resp, err := askOnce(ctx, v, sample)
		kind := failure.KindOf(err)
		if err == nil || (kind != failure.Busy && kind != failure.Deadline) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(busyPause):
		}
	}
}

// busyPause is well below the time that a full queue takes to run dry.
const busyPause = 20 * time.Millisecond

func askOnce(ctx context.Context, v *version, sample *inference.ModelInferRequest) (resp *inference.ModelInferResponse, err error) {
	defer caught(&err, "the model broke")
	req := &inference.ModelInferRequest{
		ModelName: v.name, ModelVersion: v.String(), Id: "gate",
		Inputs: sample.GetInputs(), RawInputContents: sample.GetRawInputContents(),
	}
	if _, err := oip.Check(req, v.config); err != nil {
		return nil, err
	}
	return v.model.Infer(ctx, req)
}
