package modelserver

import (
	"fmt"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/oip"
)

// declared is what inputs and outputs of a configuration have in common.
type declared interface {
	GetName() string
	GetDataType() inference.DataType
	GetDims() []int64
}

// compareSignatures wants every request that the old version took to be one that
// the new one takes, and every output that it gave to be given still. New
// outputs, and new inputs that are optional, are in nobody's way.
func compareSignatures(old, fresh *inference.ModelConfig) *mismatch {
	for _, was := range old.GetInput() {
		is, ok := byName(fresh.GetInput(), was.GetName())
		if !ok {
			return signature("input %q is missing, the new version takes %s", was.GetName(), listed(fresh.GetInput()))
		}
		before, now := shapeOf(old, was), shapeOf(fresh, is)
		if was.GetDataType() != is.GetDataType() || !oip.Fits(before, now) {
			return signature("input %q was %s, is now %s", was.GetName(), describe(was, before), describe(is, now))
		}
	}
	for _, is := range fresh.GetInput() {
		if _, ok := byName(old.GetInput(), is.GetName()); !ok && !is.GetOptional() {
			return signature("input %q is new and not optional, callers send %s", is.GetName(), listed(old.GetInput()))
		}
	}
	for _, was := range old.GetOutput() {
		is, ok := byName(fresh.GetOutput(), was.GetName())
		if !ok {
			return signature("output %q is missing, the new version gives %s", was.GetName(), listed(fresh.GetOutput()))
		}
		before, now := shapeOf(old, was), shapeOf(fresh, is)
		if was.GetDataType() != is.GetDataType() || !meet(before, now) {
			return signature("output %q was %s, is now %s", was.GetName(), describe(was, before), describe(is, now))
		}
	}
	return nil
}

func signature(format string, args ...any) *mismatch {
	return &mismatch{reason: refusedSignature, message: fmt.Sprintf(format, args...)}
}

func byName[T declared](tensors []T, name string) (T, bool) {
	for _, t := range tensors {
		if t.GetName() == name {
			return t, true
		}
	}
	var none T
	return none, false
}

func shapeOf(cfg *inference.ModelConfig, t declared) []int64 {
	return oip.WireShape(cfg.GetMaxBatchSize(), t.GetDims())
}

// meet tells whether two shapes can be of one tensor. What a free dimension turns
// out to be, the samples show.
func meet(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] >= 0 && b[i] >= 0 && a[i] != b[i] {
			return false
		}
	}
	return true
}

func describe(t declared, shape []int64) string {
	return oip.Datatype(t.GetDataType()) + " " + oip.FormatShape(shape)
}

func listed[T declared](tensors []T) string {
	if len(tensors) == 0 {
		return "none"
	}
	quoted := make([]string, len(tensors))
	for i, t := range tensors {
		quoted[i] = strconv.Quote(t.GetName())
	}
	return strings.Join(quoted, ", ")
}
