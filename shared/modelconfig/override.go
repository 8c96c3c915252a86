package modelconfig

import (
	"path/filepath"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Steps are the models that an ensemble calls, in the order of its steps. Another
// model calls none.
func Steps(cfg *inference.ModelConfig) []string {
	steps := make([]string, 0, len(cfg.GetEnsembleScheduling().GetStep()))
	for _, s := range cfg.GetEnsembleScheduling().GetStep() {
		steps = append(steps, s.GetModelName())
	}
	return steps
}

// Override reads a configuration that a caller sent in the place of the file, in
// the JSON form of Triton's load API, for the model in a directory.
func Override(directory string, text []byte) (*Document, error) {
	name := filepath.Base(directory)
	shown := "the sent config of " + name
	if len(text) > maxFile {
		return nil, failure.New(failure.TooLarge, "%s has %d bytes, at most %d are read", shown, len(text), maxFile)
	}
	cfg, err := ParseJSON(shown, text)
	if err != nil {
		return nil, err
	}
	d := NewDocument(shown, nil, cfg)
	if cfg.GetName() != "" && cfg.GetName() != name {
		return nil, d.failf(nil, "the model is called %q, not %q", cfg.GetName(), name)
	}
	cfg.Name = name
	return d, d.FillBackend(directory)
}
