package bench

import (
	"context"
	"errors"
	"strconv"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/sample"
	"triptych/loadtest/target"
)

// The two sides. A rival with a setting is "rival 2000".
const (
	ours  = "ours"
	rival = "rival"
)

// The stand-ins of our own side. Standin is that of the rival too.
const (
	standin    = "standin"
	standin300 = "standin_300"
)

// What the stand-in takes.
const (
	input = "image"
	dims  = "224,224,3"
)

// bound is the greatest delay of our stand-in's configuration, in microseconds.
const bound = 10_000

// withOurs runs the predictor on a repository while f runs.
func (b *runner) withOurs(ctx context.Context, repository string, flags []string, f func(*server.Server) error) error {
	s, err := server.StartOurs(ctx, b.predictor, append([]string{"--model-repository", repository}, flags...), b.Log)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Stop())
}

// withRival runs the rival with a queue delay in microseconds while f runs.
func (b *runner) withRival(ctx context.Context, delay int, f func(*server.Server) error) error {
	return b.rival.With(ctx, delayMark, strconv.Itoa(delay), b.Log, f)
}

// withStandin runs our side with a stand-in.
func (b *runner) withStandin(ctx context.Context, model string, f func(*server.Server) error) error {
	return b.withOurs(ctx, b.standins, nil, func(s *server.Server) error {
		if err := s.Ready(ctx, model); err != nil {
			return err
		}
		return f(s)
	})
}

// drive is how a load is made: by one of the two loops.
type drive func(load.Target, *measure.Recorder)

// pixels prepares requests for a stand-in.
func pixels(s *server.Server, model string) (target.Target, error) {
	spec, err := sample.ParseTensor(input+":UINT8:"+dims, 1)
	if err != nil {
		return nil, err
	}
	tensors, err := sample.Tensors(spec, contents, 1)
	if err != nil {
		return nil, err
	}
	return target.NewTensors(target.Options{Protocol: target.GRPC, URL: s.Address, Model: model, Connections: 2}, tensors, nil)
}

// loaded drives a stand-in and gives what came of it with the mean batch.
func loaded(ctx context.Context, s *server.Server, model string, d drive) (figure.Sample, measure.Result, error) {
	t, err := pixels(s, model)
	if err != nil {
		return figure.Sample{}, measure.Result{}, err
	}
	defer func() { _ = t.Close() }()
	before, err := s.Counts(ctx, model)
	if err != nil {
		return figure.Sample{}, measure.Result{}, err
	}
	recorder, cpu := measure.NewRecorder(), measure.CPUTime()
	d(t, recorder)
	r := recorder.Result()
	cpu = measure.CPUTime() - cpu
	after, err := s.Counts(ctx, model)
	got := figure.SampleOf(r)
	got.Batch, got.Generator = after.Batch(before), cpu.Seconds()/r.Elapsed.Seconds()
	return got, r, err
}
