package rest

import (
	"time"

	"triptych/gateway/rest/jsonlex"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// maxTensors bounds the inputs and the outputs of a request.
const maxTensors = 1024

// request is an infer request and how its answer is to be written.
type request struct {
	message *inference.ModelInferRequest
	// binary is the form of outputs that do not say theirs.
	binary bool
	// forms are those of the outputs that the caller named.
	forms map[string]form
	// timeout is the caller's own; zero when it has none.
	timeout time.Duration
}

// form is how one output is to be written.
type form struct {
	binary bool
	base64 bool
	// classes is how many strings of the classification extension; 0 is the tensor
	// itself.
	classes int64
}

// formOf is how the output of a name is to be written.
func (r *request) formOf(name string) form {
	if f, ok := r.forms[name]; ok {
		return f
	}
	return form{binary: r.binary}
}

// tensorSource is where the data of one input is.
type tensorSource struct {
	name string
	// data is read from JSON; nil when it is among the binary data.
	data []byte
	// binary is the number of bytes among the binary data; -1 when there are none.
	binary int64
}

// parse reads a JSON header and the binary data behind it. Inputs are slices of
// the binary data.
func parse(header, binary []byte) (*request, error) {
	r := &request{message: &inference.ModelInferRequest{}, forms: map[string]form{}}
	var sources []tensorSource
	outputs := -1
	l := jsonlex.New(header)
	if err := l.Expect(jsonlex.Object, "the body"); err != nil {
		return nil, err
	}
	err := l.Fields([]string{"id", "parameters", "inputs", "outputs"}, func(field int) (err error) {
		switch field {
		case 0:
			r.message.Id, err = expectText(l, `"id"`)
		case 1:
			err = r.parameters(l)
		case 2:
			sources, err = r.inputs(l)
		case 3:
			// Read last, for request-wide parameters may come after them.
			outputs = l.Offset()
			err = l.Skip()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := l.End(); err != nil {
		return nil, failure.Prefix("the JSON part of the body (is the header "+HeaderLength+" right?)", err)
	}
	if sources == nil {
		return nil, failure.New(failure.Invalid, `"inputs" is missing`)
	}
	if outputs >= 0 {
		if err := r.outputs(l.At(outputs)); err != nil {
			return nil, err
		}
	}
	r.message.RawInputContents, err = split(sources, binary)
	return r, err
}

func expectText(l *jsonlex.Lexer, name string) (string, error) {
	if err := l.Expect(jsonlex.String, name); err != nil {
		return "", err
	}
	text, err := l.Text()
	return string(text), err
}

// parameters reads those of the request.
func (r *request) parameters(l *jsonlex.Lexer) error {
	params, err := readParameters(l)
	if err != nil {
		return err
	}
	if r.binary, err = takeBool(params, binaryOutput, false); err != nil {
		return err
	}
	timeout, err := oip.IntParameter(params, "timeout", 0)
	if err != nil {
		return err
	}
	if timeout < 0 {
		return failure.New(failure.Invalid, "parameter %q is %d, must not be negative", "timeout", timeout)
	}
	const most = int64(24 * time.Hour / time.Microsecond)
	r.timeout = time.Duration(min(timeout, most)) * time.Microsecond
	r.message.Parameters = params
	return nil
}

// each reads a list of objects.
func each(l *jsonlex.Lexer, name string, read func(i int) error) error {
	if err := l.Expect(jsonlex.Array, `"`+name+`"`); err != nil {
		return err
	}
	if err := l.Open(jsonlex.Array); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := l.More(jsonlex.Array, i)
		if err != nil || !more {
			return err
		}
		if i == maxTensors {
			return failure.New(failure.Invalid, "more than %d %s", maxTensors, name)
		}
		if err := l.Expect(jsonlex.Object, "each of the "+name); err != nil {
			return err
		}
		if err := read(i); err != nil {
			return err
		}
	}
}

func (r *request) inputs(l *jsonlex.Lexer) ([]tensorSource, error) {
	sources := []tensorSource{}
	err := each(l, "inputs", func(i int) error {
		tensor, source, err := readInput(l, i)
		if err != nil {
			return err
		}
		r.message.Inputs = append(r.message.Inputs, tensor)
		sources = append(sources, source)
		return nil
	})
	return sources, err
}

func (r *request) outputs(l *jsonlex.Lexer) error {
	return each(l, "outputs", func(i int) error {
		out := &inference.ModelInferRequest_InferRequestedOutputTensor{}
		err := l.Fields([]string{"name", "parameters"}, func(field int) (err error) {
			if field == 0 {
				out.Name, err = expectText(l, `the "name" of an output`)
				return err
			}
			out.Parameters, err = readParameters(l)
			return err
		})
		if err != nil {
			return err
		}
		if out.GetName() == "" {
			return failure.New(failure.Invalid, `output %d has no "name"`, i)
		}
		f, err := takeForm(out.GetParameters(), r.binary)
		if err != nil {
			return failure.Prefix("output "+failure.Quote(out.GetName()), err)
		}
		r.forms[out.GetName()] = f
		r.message.Outputs = append(r.message.Outputs, out)
		return nil
	})
}

// takeForm removes what says how an output is written from its parameters.
func takeForm(params oip.Parameters, binary bool) (form, error) {
	f := form{}
	if _, ok := params[sharedMemory]; ok {
		return f, failure.New(failure.Unsupported, "shared memory is not supported by this server")
	}
	var err error
	if f.binary, err = takeBool(params, binaryData, binary); err != nil {
		return f, err
	}
	kind, err := takeText(params, contentType)
	if err != nil {
		return f, err
	}
	f.base64 = kind == base64Type
	classes, given, err := takeInt(params, classification)
	if err != nil {
		return f, err
	}
	if given && classes < 1 {
		return f, failure.New(failure.Invalid, "parameter %q is %d, must be 1 or more", classification, classes)
	}
	f.classes = classes
	return f, nil
}
