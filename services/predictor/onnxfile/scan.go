package onnxfile

import (
	"triptych/shared/failure"
)

// scan fills a Header. The numbers are those of the fields in onnx.proto3.
type scan struct {
	*reader
	Header
}

// model reads a ModelProto.
func (s *scan) model(f field) (err error) {
	switch f.number {
	case 1:
		s.IRVersion = int64(f.value)
	case 2:
		s.Producer, err = s.text(f, maxText)
	case 3:
		s.ProducerVersion, err = s.text(f, maxText)
	case 7:
		s.graph = true
		err = s.message(f, s.inGraph)
	case 8:
		err = s.opset(f)
	case 20: // TrainingInfoProto: two graphs
		err = s.message(f, func(f field) error {
			if f.number > 2 {
				return nil
			}
			return s.message(f, s.inGraph)
		})
	case 25:
		err = s.function(f)
	}
	return err
}

// opset reads an OperatorSetIdProto.
func (s *scan) opset(f field) error {
	var domain string
	var version int64
	err := s.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			domain, err = s.text(f, maxText)
		case 2:
			version = int64(f.value)
		}
		return err
	})
	if err != nil {
		return err
	}
	domain = normal(domain)
	if len(s.Opsets) >= maxNames {
		return tooMany("domains")
	}
	s.Opsets[domain] = max(s.Opsets[domain], version)
	return nil
}

// function reads a FunctionProto.
func (s *scan) function(f field) error {
	var is operator
	err := s.message(f, func(f field) (err error) {
		switch f.number {
		case 1:
			is.name, err = s.text(f, maxText)
		case 7:
			err = s.node(f)
		case 9:
			err = s.opset(f)
		case 10:
			is.domain, err = s.text(f, maxText)
		case 11:
			err = s.message(f, s.inAttribute)
		}
		return err
	})
	is.domain = normal(is.domain)
	return firstError(err, add(s.functions, is, "functions"))
}

// inGraph reads the fields of a GraphProto.
func (s *scan) inGraph(f field) error {
	switch f.number {
	case 1:
		return s.node(f)
	case 5:
		return s.tensor(f)
	case 15:
		return s.sparse(f)
	}
	return nil
}

// node reads a NodeProto.
func (s *scan) node(f field) error {
	var is operator
	err := s.message(f, func(f field) (err error) {
		switch f.number {
		case 4:
			is.name, err = s.text(f, maxText)
		case 5:
			err = s.message(f, s.inAttribute)
		case 7:
			is.domain, err = s.text(f, maxText)
		}
		return err
	})
	if err != nil || known(is.domain) {
		return err
	}
	return add(s.operators, is, "operators of other domains")
}

// inAttribute reads the fields of an AttributeProto.
func (s *scan) inAttribute(f field) error {
	switch f.number {
	case 5, 10:
		return s.tensor(f)
	case 6, 11:
		return s.message(f, s.inGraph)
	case 22, 23:
		return s.sparse(f)
	}
	return nil
}

// sparse reads a SparseTensorProto: two tensors.
func (s *scan) sparse(f field) error {
	return s.message(f, func(f field) error {
		if f.number > 2 {
			return nil
		}
		return s.tensor(f)
	})
}

func add(set map[operator]bool, o operator, what string) error {
	if len(set) >= maxNames {
		return tooMany(what)
	}
	set[o] = true
	return nil
}

func tooMany(what string) error {
	return failure.New(failure.Invalid, "it has more than %d %s", maxNames, what)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
