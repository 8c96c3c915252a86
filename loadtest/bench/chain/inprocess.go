package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"triptych/loadtest/bench/answers"
	"triptych/loadtest/bench/chain/stages"
	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/bench/turns"
	"triptych/shared/scheduling"
)

// Row 5: the same callers on both sides, in turns that are short enough for a machine
// with neighbours of its own to be the same in both.
const (
	sideCallers = 16
	turnPart    = 5 // of the window
	oneProcess  = "one process"
)

// garbage is how much of it the side of one process has beside what is in use, in
// percent: what preprocess, which makes most of it, chooses for itself.
const garbage = 400

// serveSide is the side of row 5 that is one process. It is scheduled as the services
// are.
func serveSide(ctx context.Context, repository, library string, stdin io.Reader, stdout, stderr io.Writer) int {
	debug.SetGCPercent(garbage)
	class := scheduling.DefaultConfig()
	err := errors.Join(class.Apply(), turns.Serve(stdin, stdout, stages.Prepare(ctx, repository, library)))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return rows.NotRun
	}
	return rows.Good
}

// inProcess is row 5: what it costs that the stages are services.
func (b *runner) inProcess(ctx context.Context) (err error) {
	s, err := b.ours(ctx)
	if err != nil {
		return err
	}
	us, err := b.openOurs(ctx, s, float32Model, sideCallers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, us.Close()) }()
	them, err := turns.Start(ctx, oneProcess, []string{b.self, SideArgument, b.repository(), b.library}, nil, b.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, them.Close()) }()
	if err := b.sameAnswers(ctx, s, them); err != nil {
		return err
	}
	if err := b.inTurn(ctx, us, them); err != nil {
		return err
	}
	b.judgeInProcess()
	return nil
}

// sameAnswers is an error where the two sides do not give the same labels.
func (b *runner) sameAnswers(ctx context.Context, s *stack.Stack, them *turns.Side) error {
	task := turns.Task{Kind: turns.Chain, Model: float32Model, Callers: sideCallers}
	var sums []string
	for i, image := range b.images {
		file := filepath.Join(b.folder, fmt.Sprintf("%d.jpg", i))
		if err := os.WriteFile(file, image, 0o600); err != nil {
			return err
		}
		task.Files = append(task.Files, file)
		resp, err := s.Gateway.Server().Infer(ctx, answers.Request(float32Model, image))
		if err != nil {
			return err
		}
		sums = append(sums, stages.Sum(resp))
	}
	prepared, err := them.Prepare(task)
	if err == nil && !slices.Equal(prepared.Sums, sums) {
		err = errors.New("the chain and the same stages in one process do not give the same labels")
	}
	return err
}

// inTurn lets both work. The first turn of each is for nothing: both warm up.
func (b *runner) inTurn(ctx context.Context, us *side, them *turns.Side) error {
	length := b.Window / turnPart
	for n := range b.Rounds*b.turns + 1 {
		w, err := whole(us.closed(ctx, sideCallers, length))
		if err != nil {
			return err
		}
		turn, err := them.Turn(length)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		sample := w.sample
		sample.Row, sample.Round, sample.Name = 5, n, oneProcess
		b.Keep(sample)
		b.Keep(figure.Sample{Row: 5, Round: n, Side: oneProcess, Name: oneProcess, Throughput: float64(turn.Count) / turn.Wall, Value: turn.Each()})
		b.Say("row 5 turn %2d  chain %6.1f/s, CPU %.2f ms  one process %6.1f/s, CPU %.2f ms", n, sample.Throughput, sample.Value, float64(turn.Count)/turn.Wall, turn.Each())
	}
	return nil
}

func (b *runner) judgeInProcess() {
	for _, g := range []goal{
		{"float32, 16 callers: the chain, throughput", "/s", figure.Throughput, figure.AtLeast(0.87)},
		{"float32, 16 callers: CPU of the services for an answer", "ms", figure.Value, nil},
	} {
		f := paired(b.Of(5, ours, oneProcess, g.number), b.Of(5, oneProcess, oneProcess, g.number), oneProcess)
		f.Row, f.Name, f.Unit, f.Bar = 5, g.name, g.unit, g.bar
		b.Add(f)
	}
}
