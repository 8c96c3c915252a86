package images

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/turns"
)

// The names of the sides.
const (
	oursName   = "ours"
	pillowName = "Pillow"
)

// pillowScript is the other side.
const pillowScript = "tools/bench/pillow_side.py"

// startOurs starts our side on one core.
func (b *runner) startOurs(ctx context.Context) (*turns.Side, error) {
	return b.start(ctx, oursName, []string{b.self, SideArgument}, []string{"GOMAXPROCS=1"})
}

// startPillow starts Pillow on the same core.
func (b *runner) startPillow(ctx context.Context) (*turns.Side, error) {
	var environ []string
	if b.pillow != "" {
		environ = []string{"PYTHONPATH=" + b.pillow}
	}
	return b.start(ctx, pillowName, []string{b.python, pillowScript}, environ)
}

func (b *runner) start(ctx context.Context, name string, command, environ []string) (*turns.Side, error) {
	core, err := lastCore()
	if err != nil {
		return nil, err
	}
	return turns.Start(ctx, name, append([]string{"taskset", "--cpu-list", core}, command...), environ, b.Log)
}

// rival is what ours is compared with in one comparison.
type rival struct {
	side *turns.Side
	task turns.Task
	bar  *figure.Bar
	// other tells that its pixels are not ours: it says itself how near they are.
	other bool
}

// compare has both sides do the same in turn, and adds a line to the table.
func (b *runner) compare(row int, name string, rounds int, us *turns.Side, task turns.Task, them rival) error {
	version, err := b.same(us, task, them)
	if err != nil {
		return err
	}
	var pairs [][2]turns.Turn
	for round := range rounds + 1 {
		pair, err := b.pair(us, them.side, round)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // both warm up
		}
		pairs = append(pairs, pair)
		for i, side := range []string{oursName, version} {
			b.Keep(figure.Sample{Row: row, Round: round, Side: side, Name: name, Throughput: float64(pair[i].Count) / pair[i].Wall, Value: pair[i].Each()})
		}
	}
	f := judge(pairs)
	f.Row, f.Name, f.Against, f.Bar = row, name, version, them.bar
	b.Say("row %d  %-42s %7.3f ms, %s %7.3f ms, %.2f times as fast", row, name, 1e3/f.Ours, version, 1e3 / *f.Rival, f.Paired)
	b.Add(f)
	return nil
}

// same gives both sides their tasks and wants the same pixels of them.
func (b *runner) same(us *turns.Side, task turns.Task, them rival) (version string, err error) {
	got, err := us.Prepare(task)
	if err != nil {
		return "", err
	}
	want, err := them.side.Prepare(them.task)
	if err != nil {
		return "", err
	}
	version = them.side.Name + " " + want.Version
	if them.other {
		b.Report.Notes = append(b.Report.Notes, fmt.Sprintf("Samples of %s differ from ours by %d at most.", version, want.Difference))
		return version, nil
	}
	if task.Scaled {
		b.Report.Notes = append(b.Report.Notes, fmt.Sprintf("Samples of scaled decoding differ from those of exact decoding by %.2f in the mean and %d at most.", got.Mean, got.Difference))
	}
	for i, file := range task.Files {
		if len(got.Sums) != len(want.Sums) || got.Sums[i] != want.Sums[i] {
			return "", fmt.Errorf("%s: our pixels are not those of %s, so that there is nothing to compare", filepath.Base(file), version)
		}
	}
	return version, nil
}

// pair is one turn of each; who begins changes.
func (b *runner) pair(us, them *turns.Side, round int) (pair [2]turns.Turn, err error) {
	sides := []int{0, 1}
	if round%2 == 1 {
		slices.Reverse(sides)
	}
	var errs [2]error
	for _, i := range sides {
		pair[i], errs[i] = []*turns.Side{us, them}[i].Turn(b.Window)
	}
	return pair, errors.Join(errs[:]...)
}

// judge makes a figure of turns: items a second of processor time, and by how many
// times ours are more.
func judge(pairs [][2]turns.Turn) figure.Figure {
	ours, theirs, ratios := make([]float64, len(pairs)), make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		ours[i], theirs[i], ratios[i] = 1e3/p[0].Each(), 1e3/p[1].Each(), p[1].Each()/p[0].Each()
	}
	their := figure.Median(theirs...)
	return figure.Figure{Unit: "/s", Ours: figure.Median(ours...), Rival: &their, Paired: figure.Median(ratios...)}
}

// few is how many rounds there are of what takes long or has no bar.
func (b *runner) few() int { return max(b.Rounds/3, 3) }

// long is a turn of what needs more time than a function on one core.
func (b *runner) long() time.Duration { return 5 * b.Window }
