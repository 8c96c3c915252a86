// Package onnxfile reads what an ONNX file says of itself before the runtime
// loads it: versions, operators of other domains, weights in other files. It
// never reads the weights, so that a file of any size takes a few kilobytes,
// and no length that a file declares is believed before it has been compared
// with the file. The graph is not checked: the runtime does that.
package onnxfile

import (
	"os"

	"triptych/shared/failure"
)

// Bounds of what is kept of a file.
const (
	maxText  = 256     // bytes of a name
	maxPath  = 4096    // bytes of a location
	maxNames = 1 << 16 // different domains, functions, foreign operators, files of weights
)

// Header is what a file says of itself.
type Header struct {
	// Optimized is a file in the runtime's own format (.ort): nothing else is
	// known of it.
	Optimized bool
	// IRVersion is the version of the file format.
	IRVersion int64
	// Opsets are the versions of operators that the model and its functions
	// are written for, by domain; the newest of each. The standard's is "".
	Opsets map[string]int64
	// Producer is the program that wrote the file, with its version.
	Producer, ProducerVersion string
	// External are the other files with weights, by location.
	External map[string]External

	graph     bool
	operators map[operator]bool // that are not of the standard's domains
	functions map[operator]bool // that the model itself defines
}

// External is the part of another file that reaches farthest into it.
type External struct {
	// Tensor is whose part it is.
	Tensor string
	// Offset and Length say where it is, in bytes.
	Offset, Length int64
}

// operator is a name in a domain.
type operator struct{ domain, name string }

// Read reads the header of the file at path. An error is Invalid and says where
// the file ends too early or is damaged.
func Read(path string) (*Header, error) {
	// To open a pipe waits for its writer.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, failure.Wrap(err, failure.Invalid, "it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "it can't be opened")
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "it can't be read")
	}
	s := &scan{reader: newReader(file, info.Size()), Header: Header{
		Opsets: map[string]int64{}, External: map[string]External{},
		operators: map[operator]bool{}, functions: map[operator]bool{},
	}}
	if head, _ := s.page.Peek(8); len(head) == 8 && string(head[4:]) == "ORTM" {
		return &Header{Optimized: true}, nil
	}
	if err := s.fields(info.Size(), s.model); err != nil {
		return nil, err
	}
	// The graph and the opsets are written last.
	if !s.graph || len(s.Opsets) == 0 {
		return nil, failure.New(failure.Invalid, "the file ends in the middle, or it is no ONNX model: in its %d bytes there is no graph or no opset_import", info.Size())
	}
	return &s.Header, nil
}

// normal is a domain's one name: the standard's has two.
func normal(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}
