package modelserver

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Override is what a load request puts in the place of what the repository has.
// The next load without one undoes it.
type Override struct {
	// Config is the configuration, in the JSON form of Triton's API.
	Config []byte
	// Files, when there are any, are all that the model's folder has, by slashed
	// path such as "1/model.onnx".
	Files map[string][]byte
}

// The parameters of a load request.
const (
	configParameter = "config"
	filePrefix      = "file:"
)

// The bounds of the files of one request.
const (
	maxOverrideFiles = 1000
	maxOverrideBytes = 1 << 31
)

// NewOverride reads the parameters of a load request; nil when there are none.
func NewOverride(params map[string]*inference.ModelRepositoryParameter) (*Override, error) {
	if len(params) == 0 {
		return nil, nil
	}
	o := &Override{Files: map[string][]byte{}}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if err := o.read(key, params[key]); err != nil {
			return nil, err
		}
	}
	if o.Config == nil {
		return nil, failure.New(failure.Invalid, "files can be sent only together with the parameter %q", configParameter)
	}
	return o, o.check()
}

func (o *Override) read(key string, value *inference.ModelRepositoryParameter) error {
	if key == configParameter {
		text, ok := value.GetParameterChoice().(*inference.ModelRepositoryParameter_StringParam)
		if !ok {
			return failure.New(failure.Invalid, "the parameter %q must be a string: the configuration in JSON", key)
		}
		o.Config = []byte(text.StringParam)
		return nil
	}
	name, ok := strings.CutPrefix(key, filePrefix)
	if !ok {
		return failure.New(failure.Invalid, "unknown parameter %s of a load: there are %q and %q", failure.Quote(key), configParameter, filePrefix+"VERSION/PATH")
	}
	data, ok := value.GetParameterChoice().(*inference.ModelRepositoryParameter_BytesParam)
	if !ok {
		return failure.New(failure.Invalid, "the parameter %s must be bytes", failure.Quote(key))
	}
	o.Files[name] = data.BytesParam
	return nil
}

func (o *Override) check() error {
	if len(o.Files) > maxOverrideFiles {
		return failure.New(failure.TooLarge, "a load has %d files, at most %d are taken", len(o.Files), maxOverrideFiles)
	}
	total := 0
	for name, data := range o.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00") || name == "." {
			return failure.New(failure.Invalid, "the file %s leaves the model's folder", failure.Quote(name))
		}
		if err := o.writable(name); err != nil {
			return err
		}
		total += len(data)
	}
	if total > maxOverrideBytes {
		return failure.New(failure.TooLarge, "the files of a load have %d bytes, at most %d are taken", total, maxOverrideBytes)
	}
	return nil
}

// writable tells whether the file can be written beside the others.
func (o *Override) writable(name string) error {
	parts := strings.Split(name, "/")
	switch {
	case path.Clean(name) != name:
		return failure.New(failure.Invalid, "the file %s must be a plain path such as 1/model.onnx", failure.Quote(name))
	case len(parts) > maxNested || slices.ContainsFunc(parts, func(part string) bool { return len(part) > maxNameBytes }):
		return failure.New(failure.Invalid, "the path of the file %s is too long", failure.Quote(name))
	}
	for i := range parts[1:] {
		folder := strings.Join(parts[:i+1], "/")
		if _, both := o.Files[folder]; both {
			return failure.New(failure.Invalid, "%s is a file and a folder with the file %s", failure.Quote(folder), failure.Quote(name))
		}
	}
	return nil
}

// LoadOverride loads a model with a configuration, and files if there are any, in
// the place of what the repository has. It always loads anew.
func (r *Registry) LoadOverride(ctx context.Context, name string, o Override) error {
	e, err := r.overridden(name, o)
	defer e.scratch.release()
	if err != nil {
		return err
	}
	return r.loadByRequest(ctx, e)
}

// overridden is the entry that the repository would have with the override.
func (r *Registry) overridden(name string, o Override) (e Entry, err error) {
	if !isName(name) {
		return Entry{}, failure.New(failure.NotFound, "model %s is not in the repository", failure.Quote(name))
	}
	if len(o.Files) == 0 {
		e, err = r.repository.Find(name)
		if err == nil && failure.KindOf(e.Err) == failure.Conflict {
			err = e.Err
		}
	} else if e.scratch, err = newScratch(name, o.Files, r.telemetry.Logger); err == nil {
		e.Directory = e.scratch.directory
	}
	if err != nil {
		return e, err
	}
	e.Name, e.forced = name, true
	e.Document, e.Err = modelconfig.Override(e.Directory, o.Config)
	return e, nil
}
