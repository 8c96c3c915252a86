// Package versions keeps a model repository in which a classifier changes between
// two files, each time as a version with a new number. It asks for no load.
package versions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Classifier is the model.
const Classifier = "efficientnet_lite0"

// Repository holds the classifier with one version, the latest. Odd versions are
// the file of version 1 and even ones that of version 2.
type Repository struct {
	// Root is the repository.
	Root            string
	source, staging string
	latest          int
}

// New makes a repository in a folder, beside what it may have in models, with
// version 1 in it. The files are those of another repository.
func New(classifiers, folder string) (*Repository, error) {
	r := &Repository{Root: filepath.Join(folder, "models"), source: filepath.Join(classifiers, Classifier), staging: filepath.Join(folder, "staging")}
	text, err := os.ReadFile(filepath.Join(r.source, "config.pbtxt"))
	if err != nil {
		return nil, fmt.Errorf("read the classifier: %w", err)
	}
	text = regexp.MustCompile(`(?m)^version_policy.*$`).ReplaceAll(text, []byte("version_policy { latest { num_versions: 1 } }"))
	if err := os.MkdirAll(filepath.Join(r.Root, Classifier), 0o755); err != nil {
		return nil, fmt.Errorf("make a repository: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.Root, Classifier, "config.pbtxt"), text, 0o600); err != nil {
		return nil, fmt.Errorf("make a repository: %w", err)
	}
	return r, r.add()
}

// Latest is the number of the version that is there.
func (r *Repository) Latest() int { return r.latest }

// add puts the next version there, whole at once.
func (r *Repository) add() error {
	next := r.latest + 1
	model, err := os.ReadFile(filepath.Join(r.source, strconv.Itoa(2-next%2), "model.onnx"))
	if err != nil {
		return fmt.Errorf("read the classifier: %w", err)
	}
	if err := os.MkdirAll(r.staging, 0o755); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	if err := os.WriteFile(filepath.Join(r.staging, "model.onnx"), model, 0o600); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	if err := os.Rename(r.staging, r.version(next)); err != nil {
		return fmt.Errorf("make version %d: %w", next, err)
	}
	r.latest = next
	return nil
}

func (r *Repository) version(n int) string {
	return filepath.Join(r.Root, Classifier, strconv.Itoa(n))
}

// Swap adds a version, has it loaded and takes the one before away.
func (r *Repository) Swap(load func(model string) error) error {
	if err := r.add(); err != nil {
		return err
	}
	if err := load(Classifier); err != nil {
		return err
	}
	return os.RemoveAll(r.version(r.latest - 1))
}
