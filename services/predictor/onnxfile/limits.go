package onnxfile

import (
	"maps"
	"slices"
	"strings"

	"triptych/shared/failure"
)

// Limits are the newest versions that a runtime takes.
type Limits struct {
	// Runtime is the runtime's own version.
	Runtime string
	// IR is the newest file format; 0 is unknown.
	IR int64
	// Opsets are the newest operators, by domain; one that is not in it is
	// unknown.
	Opsets map[string]int64
}

// released are the limits of ONNX Runtime, by its minor version. They come from
// the library itself: TestLimits asks it.
var released = map[string]Limits{
	"1.24": {IR: 13, Opsets: map[string]int64{"": 25, "ai.onnx.ml": 5, "ai.onnx.training": 1, "ai.onnx.preview.training": 1, "com.microsoft": 1}},
}

// domains are those whose operators the runtime brings along.
var domains = []string{
	"", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training",
	"com.microsoft", "com.microsoft.nchwc", "com.microsoft.experimental", "com.ms.internal.nhwc", "com.microsoft.dml", "org.pytorch.aten", "trt.plugins",
}

func known(domain string) bool { return slices.Contains(domains, normal(domain)) }

// LimitsOf are the limits of the runtime of a version, such as "1.24.4". Those of
// one that is newer than this program are unknown: it says itself what it does
// not take.
func LimitsOf(version string) Limits {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	l := released[major+"."+minor]
	l.Runtime = version
	return l
}

// maxFile is protobuf's bound of a message, and so the runtime's of a file.
const maxFile = 1<<31 - 1

// within holds the versions of a file against the runtime's.
func (h *Header) within(l Limits) error {
	if l.IR > 0 && h.IRVersion > l.IR {
		return failure.New(failure.Invalid, "it has IR version %d, ONNX Runtime %s takes up to %d%s", h.IRVersion, l.Runtime, l.IR, h.by())
	}
	for _, domain := range slices.Sorted(maps.Keys(h.Opsets)) {
		if most, ok := l.Opsets[domain]; ok && h.Opsets[domain] > most {
			name := domain
			if name == "" {
				name = "ai.onnx"
			}
			return failure.New(failure.Invalid, "it has opset %d of %s, ONNX Runtime %s takes up to %d%s", h.Opsets[domain], name, l.Runtime, most, h.by())
		}
	}
	return h.operable()
}

// operable wants an implementation for every operator of an unknown domain.
func (h *Header) operable() error {
	missing := ""
	for o := range h.operators {
		if text := o.domain + ":" + o.name; !h.functions[o] && (missing == "" || text < missing) {
			missing = text
		}
	}
	if missing == "" {
		return nil
	}
	return failure.New(failure.Invalid, "it uses the operator %s, whose domain is neither the runtime's nor defined in the file", failure.Quote(missing))
}

// by tells who wrote the file, for that is where a version can be chosen.
func (h *Header) by() string {
	if h.Producer == "" {
		return ""
	}
	return " (written by " + strings.TrimSpace(h.Producer+" "+h.ProducerVersion) + ")"
}
