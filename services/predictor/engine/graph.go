package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
	"triptych/services/predictor/onnxfile"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// defaultFilename is the name of a model's file when its configuration has no
// default_model_filename.
const defaultFilename = "model.onnx"

// modelFile is the path of the version's file. A directory of that name holds
// the file and its external weights, as in Triton.
func modelFile(cfg *inference.ModelConfig, directory string) (string, error) {
	name := cfg.GetDefaultModelFilename()
	if name == "" {
		name = defaultFilename
	}
	if !filepath.IsLocal(name) {
		return "", failure.New(failure.Invalid, "model %q: default_model_filename %q leaves the version's directory", cfg.GetName(), name)
	}
	path := filepath.Join(directory, name)
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, defaultFilename)
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return "", failure.Wrap(err, failure.Invalid, "model %q: there is no file %s in %s%s", cfg.GetName(), name, shown(directory), strays(directory))
	case !info.Mode().IsRegular(): // to open a pipe waits for its writer
		return "", failure.New(failure.Invalid, "model %q: %s is not a regular file", cfg.GetName(), shown(path))
	case info.Size() == 0:
		return "", failure.New(failure.Invalid, "model %q: the file %s is empty", cfg.GetName(), shown(path))
	}
	return path, nil
}

// strays names the folders that may have been meant as versions, where the
// version itself is not there.
func strays(directory string) string {
	if _, err := os.Stat(directory); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	found := modelconfig.Strays(filepath.Dir(directory))
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("; %q is no version: those are whole numbers above 0 without a leading 0", found[0])
}

// shown is the end of a path: callers need not know where the repository lies.
func shown(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// port is an input or an output of a model file.
type port struct {
	name     string
	datatype inference.DataType
	element  string  // the runtime's word for the type
	shape    []int64 // -1 is a free dimension; empty when the file says nothing
}

func (p port) String() string { return describe(p.datatype, p.shape) }

func describe(t inference.DataType, shape []int64) string {
	return oip.Datatype(t) + " " + oip.FormatShape(shape)
}

// graph is what a model file says of itself.
type graph struct {
	inputs, outputs []port
}

// readGraph asks the runtime, for it infers the shapes that a file leaves out.
func readGraph(cfg *inference.ModelConfig, file string) (*graph, error) {
	if err := onnxfile.Check(file, onnxfile.LimitsOf(ort.GetVersion())); err != nil {
		return nil, failure.Prefix(fmt.Sprintf("model %q: %s can't be loaded", cfg.GetName(), filepath.Base(file)), err)
	}
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer discard(options)
	// The session lives only for the question: no threads, no optimizing.
	if err := first(options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll), options.SetIntraOpNumThreads(1), options.SetInterOpNumThreads(1)); err != nil {
		return nil, err
	}
	inputs, outputs, err := ort.GetInputOutputInfoWithOptions(file, options)
	if err != nil {
		return nil, unreadable(cfg, file, err)
	}
	g := &graph{}
	if g.inputs, err = ports(cfg, "input", inputs); err != nil {
		return nil, err
	}
	g.outputs, err = ports(cfg, "output", outputs)
	return g, err
}

func ports(cfg *inference.ModelConfig, what string, infos []ort.InputOutputInfo) ([]port, error) {
	if len(infos) == 0 {
		return nil, failure.New(failure.Unsupported, "model %q: a model without an %s can't be served", cfg.GetName(), what)
	}
	found := make([]port, 0, len(infos))
	for _, info := range infos {
		p := port{name: info.Name, datatype: dataTypeOf(info.DataType), element: info.DataType.String(), shape: info.Dimensions}
		if info.OrtValueType != ort.ONNXTypeTensor {
			return nil, failure.New(failure.Unsupported, "model %q: %s %q is no tensor but a %s", cfg.GetName(), what, info.Name, info.OrtValueType)
		}
		if p.datatype == inference.DataType_TYPE_INVALID {
			return nil, failure.New(failure.Unsupported, "model %q: %s %q has elements of type %s, which no request can carry", cfg.GetName(), what, info.Name, p.element)
		}
		found = append(found, p)
	}
	return found, nil
}

// unreadable says in one sentence why the runtime refuses a file.
func unreadable(cfg *inference.ModelConfig, file string, err error) error {
	return failure.Wrap(err, failure.Invalid, "model %q: %s can't be loaded: %s", cfg.GetName(), filepath.Base(file), plain(err))
}

// plain is the runtime's message without its source positions, which say
// nothing to those who wrote the model.
func plain(err error) string {
	text := err.Error()
	for _, noise := range []string{"Error loading temporary session: ", "Error creating C session from file: ", "Error running network: "} {
		text = strings.TrimPrefix(text, noise)
	}
	if strings.HasPrefix(text, "Load model from ") {
		if _, rest, ok := strings.Cut(text, " failed:"); ok {
			text = rest
		}
	}
	// "/src/file.cc:46 void some::Function(int) The message"
	if position, rest, ok := strings.Cut(text, ") "); ok && strings.HasPrefix(position, "/") {
		for strings.HasPrefix(rest, "const ") || strings.HasPrefix(rest, "[") {
			if _, after, found := strings.Cut(rest, " "); found {
				rest = after
			}
		}
		text = rest
	}
	return strings.TrimRight(text, ". \n")
}

// first is the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// names lists ports for a message.
func names(ports []port) string {
	quoted := make([]string, 0, len(ports))
	for _, p := range ports {
		quoted = append(quoted, strconv.Quote(p.name))
	}
	return strings.Join(quoted, ", ")
}

func find(ports []port, name string) (port, bool) {
	for _, p := range ports {
		if p.name == name {
			return p, true
		}
	}
	return port{}, false
}
