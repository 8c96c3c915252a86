package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/images/ours"
	"triptych/loadtest/bench/server"
	"triptych/loadtest/bench/turns"
	"triptych/loadtest/load"
	"triptych/loadtest/measure"
	"triptych/loadtest/target"
	"triptych/proto/inference"
	"triptych/shared/oip"
)

// The callers of rows 5 and 6.
const (
	serviceCallers = 16
	memoryCallers  = 64
)

// sentCount is how many photographs row 5 sends.
const sentCount = 4

// patience bounds one request: on a busy machine 64 large photographs take long.
const patience = 5 * time.Minute

// model is what the service is asked for.
const model = "bench"

// The names of what row 5 keeps.
const (
	serviceName  = "CPU an image, service"
	functionName = "CPU an image, function"
)

// service is row 5: what the service adds to the function. Both run on all cores
// with as many images at once, for a core that has busy neighbours is slower.
func (b *runner) service(ctx context.Context) error {
	files, err := b.photographs(sent, sentCount)
	if err != nil {
		return err
	}
	task := imageNet(files...)
	task.Callers = runtime.NumCPU()
	function := func(ctx context.Context) (*turns.Side, error) {
		return turns.Start(ctx, oursName, []string{b.self, SideArgument}, nil, b.Log)
	}
	return b.with(ctx, function, func(us *turns.Side) error {
		prepared, err := us.Prepare(task)
		if err != nil {
			return err
		}
		return b.serving(ctx, task, func(s *server.Server) error {
			t, err := requests(ctx, s, task.Files, prepared.Sums)
			if err != nil {
				return err
			}
			return errors.Join(b.serviceInTurn(ctx, s, t, us), t.Close())
		})
	})
}

func (b *runner) serviceInTurn(ctx context.Context, s *server.Server, t target.Target, us *turns.Side) error {
	var service, function, added []float64
	for round := range b.Rounds + 1 {
		cost, err := b.serviceTurn(ctx, s, t)
		if err != nil {
			return err
		}
		turn, err := us.Turn(b.long())
		if err != nil {
			return err
		}
		if round == 0 {
			continue // both warm up
		}
		service, function, added = append(service, cost), append(function, turn.Each()), append(added, cost-turn.Each())
		b.Keep(figure.Sample{Row: 5, Round: round, Side: oursName, Name: serviceName, Value: cost})
		b.Keep(figure.Sample{Row: 5, Round: round, Side: oursName, Name: functionName, Value: turn.Each()})
	}
	alone := figure.Median(function...)
	b.Add(figure.Figure{Row: 5, Name: serviceName, Unit: "ms", Ours: figure.Median(service...), Rival: &alone, Against: "the function"})
	b.Add(figure.Figure{Row: 5, Name: "CPU an image that the service adds", Unit: "ms", Ours: figure.Median(added...), Against: figure.Absolute, Bar: figure.AtMost(0.4)})
	b.Say("row 5  the service takes %.3f ms an image, the function %.3f ms", figure.Median(service...), alone)
	return nil
}

// serviceTurn is the processor time of an image in milliseconds.
func (b *runner) serviceTurn(ctx context.Context, s *server.Server, t target.Target) (float64, error) {
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	recorder := measure.NewRecorder()
	load.Closed(ctx, load.Plan{Duration: b.long(), Timeout: patience, Items: sentCount}, serviceCallers, t, recorder)
	after, err := s.CPU()
	r := recorder.Result()
	if err == nil {
		err = r.Whole()
	}
	return (after - before).Seconds() * 1e3 / float64(r.Answered), err
}

// memory is row 6: the most that the process holds when many send large
// photographs at once.
func (b *runner) memory(ctx context.Context) error {
	files, err := b.photographs(large, 2)
	if err != nil {
		return err
	}
	return b.serving(ctx, imageNet(files...), func(s *server.Server) error {
		t, err := requests(ctx, s, files, nil)
		if err != nil {
			return err
		}
		recorder := measure.NewRecorder()
		load.Closed(ctx, load.Plan{Requests: 4 * memoryCallers, Timeout: patience, Items: len(files)}, memoryCallers, t, recorder)
		peak, err := s.Peak()
		r := recorder.Result()
		mib := float64(peak) / (1 << 20)
		b.Say("row 6  %d answers, %d errors, %.0f MiB at most", r.Answered, r.Errors, mib)
		if r.Errors > 0 {
			b.Say("row 6  %v", r.Whole())
		}
		b.Add(figure.Figure{Row: 6, Name: fmt.Sprintf("peak memory, %d callers with %s", memoryCallers, large), Unit: "MiB", Ours: mib, Against: figure.Absolute, Bar: figure.AtMost(1023)})
		b.Add(figure.Figure{Row: 6, Name: "requests that failed", Ours: float64(r.Errors), Against: figure.Absolute, Bar: figure.AtMost(0)})
		return errors.Join(err, t.Close())
	})
}

// serving runs our binary, with a model for the task, while f runs.
func (b *runner) serving(ctx context.Context, task turns.Task, f func(*server.Server) error) error {
	repository := filepath.Join(b.folder, "models")
	if err := os.MkdirAll(filepath.Join(repository, model), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(repository, model, "config.pbtxt"), []byte(ours.Config(model, task)), 0o600); err != nil {
		return err
	}
	s, err := server.StartOurs(ctx, b.binary, []string{"--model-repository", repository}, b.Log)
	if err != nil {
		return err
	}
	err = s.Ready(ctx, model)
	if err == nil {
		err = f(s)
	}
	return errors.Join(err, s.Stop())
}

// requests prepares a request for each file. The answers must be what the server
// says when it has nothing else to do, and those must have the sums, if there are
// any.
func requests(ctx context.Context, s *server.Server, files, sums []string) (target.Target, error) {
	tensors, answers := make([]oip.Tensor, len(files)), make([][]byte, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		tensors[i] = ours.Tensor(data)
		req := ours.Request(data)
		req.ModelName = model
		resp, err := s.Infer(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("ask about %s: %w", filepath.Base(file), err)
		}
		out, _ := oip.Output(resp, ours.Output)
		if answers[i] = out.Data; len(sums) > i && turns.Sum(out.Data) != sums[i] {
			return nil, fmt.Errorf("%s: the service's pixels are not the function's", filepath.Base(file))
		}
	}
	check := func(n int, resp *inference.ModelInferResponse) error {
		if out, _ := oip.Output(resp, ours.Output); !bytes.Equal(out.Data, answers[n]) {
			return &measure.Fault{Kind: measure.WrongAnswer, Message: "other pixels than before"}
		}
		return nil
	}
	return target.NewTensors(target.Options{Protocol: target.GRPC, URL: s.Address, Model: model, Connections: 2}, tensors, check)
}
