package engine

import (
	"path/filepath"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/shared/failure"
)

// loaded is the one library of the process. It can't be a value that is passed
// in: the runtime and its Go binding have one environment for each process.
var loaded struct {
	sync.Mutex
	path  string
	api   api
	users int
	usage usage
}

// Library is a hold on the process's ONNX Runtime. The first hold loads it, the
// last Close unloads it. Safe for concurrent use.
type Library struct {
	api     api
	traffic *traffic
	usage   *usage
	close   sync.Once
}

// Open loads the library at path, or takes another hold on it.
func Open(path string) (*Library, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--onnxruntime: %s is no path", path)
	}
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.users > 0 && loaded.path != path {
		return nil, failure.New(failure.Invalid, "--onnxruntime: %s can't be loaded beside %s, which this process uses already", path, loaded.path)
	}
	if loaded.users == 0 {
		ort.SetSharedLibraryPath(path)
		// Errors come back as errors; the runtime must not log them as well.
		if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
			return nil, unusable(path, err)
		}
		var err error
		if loaded.api, err = findAPI(path); err != nil {
			_ = ort.DestroyEnvironment()
			return nil, unusable(path, err)
		}
	}
	loaded.path = path
	loaded.users++
	return &Library{api: loaded.api, traffic: &traffic{}, usage: &loaded.usage}, nil
}

// unusable turns what the binding says into what to do.
func unusable(path string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "ORT API base"):
		return failure.Wrap(err, failure.Invalid, "--onnxruntime: %s is too old, ONNX Runtime 1.24 or newer is needed: %s", path, remedy)
	case strings.Contains(text, "OrtGetApiBase"):
		return failure.Wrap(err, failure.Invalid, "--onnxruntime: %s is not an ONNX Runtime library: %s", path, remedy)
	default:
		return failure.Wrap(err, failure.Invalid, "--onnxruntime: %s can't be loaded: %s", path, remedy)
	}
}

// Version is the version of the library, such as "1.24.4".
func (l *Library) Version() string { return ort.GetVersion() }

// Close gives the hold back. No session may be in use any longer. It may be
// called more than once.
func (l *Library) Close() error {
	var err error
	l.close.Do(func() {
		loaded.Lock()
		defer loaded.Unlock()
		if loaded.users--; loaded.users == 0 {
			err = ort.DestroyEnvironment()
		}
	})
	return err
}
