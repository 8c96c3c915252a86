package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"triptych/loadtest/bench/album"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/bench/versions"
)

// Our names for the chain: with the classifier in float32 and in INT8, and with the
// stand-in in its place.
const (
	float32Model = "classify_float32"
	int8Model    = "classify"
	standinModel = "classify_standin"
)

// standin stands for the classifier in the chain.
const standin = "standin"

// prepare makes the repository and the photographs, once.
func (b *runner) prepare(ctx context.Context) (err error) {
	if b.images != nil {
		return nil
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.folder, err = os.MkdirTemp("", "bench-chain"); err != nil {
		return err
	}
	if err := makeRepository(b.Models, b.standins, b.repository()); err != nil {
		return errors.Join(err, os.RemoveAll(b.folder))
	}
	b.images, err = album.Make(ctx, b.Samples, b.Photographs)
	if err != nil {
		return errors.Join(err, os.RemoveAll(b.folder))
	}
	return nil
}

func (b *runner) repository() string { return filepath.Join(b.folder, "models") }

// makeRepository has the models of one, the stand-in, and the chain with it.
func makeRepository(models, standins, folder string) error {
	err := errors.Join(
		os.CopyFS(folder, os.DirFS(models)),
		os.CopyFS(filepath.Join(folder, standin), os.DirFS(filepath.Join(standins, standin))),
		os.MkdirAll(filepath.Join(folder, standinModel), 0o755),
	)
	if err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(models, int8Model, "config.pbtxt"))
	if err != nil {
		return fmt.Errorf("make a repository: %w", err)
	}
	own := strings.ReplaceAll(string(text), `"`+versions.Classifier+`"`, `"`+standin+`"`)
	return os.WriteFile(filepath.Join(folder, standinModel, "config.pbtxt"), []byte(own), 0o600)
}

// shared is the stack that most rows use, one after the other.
type shared struct{ *stack.Stack }

// ours is that stack, started where it is needed first, or was lost.
func (b *runner) ours(ctx context.Context) (*stack.Stack, error) {
	if b.shared.Stack != nil && b.shared.Alive() {
		return b.shared.Stack, nil
	}
	if err := b.shared.stop(); err != nil {
		return nil, err
	}
	s, err := stack.Start(ctx, b.options(), b.allModels()...)
	b.shared.Stack = s
	return s, err
}

func (s *shared) stop() error {
	if s.Stack == nil {
		return nil
	}
	err := s.Stop()
	s.Stack = nil
	return err
}

// options are the one configuration.
func (b *runner) options() stack.Options {
	return stack.Options{Binaries: b.Binaries, Repository: b.repository(), Log: b.Log}
}

func (b *runner) allModels() []string { return []string{float32Model, int8Model, standinModel} }
