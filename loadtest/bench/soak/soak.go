// Package soak runs the whole chain for long, at a part of what it can do, while model
// versions are swapped, stages are killed and some images are bad. Each request is
// accounted for, each answer held against the right one, and at the end the processes
// may not hold more than they did at the beginning.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/bench/versions"
	"triptych/loadtest/page"
	"triptych/proto/inference"
)

// row is that of docs/benchmarks.md.
const row = 9

// model is the chain, whose classifier is the latest version.
const model = "classify"

// runner is one run of the program.
type runner struct {
	settings
	*rows.Book
	folder     string
	repository *versions.Repository
	stack      *stack.Stack
	// probe is a request that is asked when something was killed.
	probe *inference.ModelInferRequest
	runs  []page.Run
}

// Run is the program: it returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := defaultSettings()
	b := &runner{}
	status := rows.Program{Name: "soak", Flags: &s.Flags, Settings: &s, Notes: s.notes, Rows: func(book *rows.Book) map[int]rows.Row {
		b.settings, b.Book = s, book
		return map[int]rows.Row{row: b.soak}
	}}.Run(ctx, args, stdout, stderr)
	if err := b.Draw("Triptych: a soak of "+s.duration.String(), "soak", args, b.Book, b.runs); err != nil {
		_, _ = fmt.Fprintln(stderr, "soak:", err)
		return rows.NotRun
	}
	return status
}

// soak makes all that is needed, runs, and judges.
func (b *runner) soak(ctx context.Context) (err error) {
	if b.folder, err = os.MkdirTemp("", "soak"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if err := b.makeRepository(); err != nil {
		return err
	}
	flags := []string{"--model-control-mode", "explicit", "--load-model", "*"}
	b.stack, err = stack.Start(ctx, stack.Options{Binaries: b.Binaries, Repository: b.repository.Root, Flags: flags, Log: b.Log}, model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	m, err := b.makeMixture(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return b.long(ctx, m)
}

// makeRepository has the chain, with one version of the classifier at a time.
func (b *runner) makeRepository() (err error) {
	for _, name := range []string{model, "imagenet_preprocess", "imagenet_postprocess"} {
		if err := os.CopyFS(filepath.Join(b.folder, "models", name), os.DirFS(filepath.Join(b.Models, name))); err != nil {
			return fmt.Errorf("make a repository: %w", err)
		}
	}
	b.repository, err = versions.New(b.Models, b.folder)
	return err
}
