package modelconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
)

// LabelsParameter is the parameter that gives versions labels, such as
// "stable=1,canary=2".
const LabelsParameter = "version_labels"

// maxLabel bounds the length of a label.
const maxLabel = 63

// IsLabel tells whether a text can be a version's label: [a-z][a-z0-9_-]*. No
// number can.
func IsLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// VersionLabels reads the labels of a configuration; nil when it has none. An
// error is Invalid and names the parameter.
func VersionLabels(cfg *inference.ModelConfig) (map[string]int64, error) {
	p := NewParameters(cfg)
	text := p.Text(LabelsParameter, "")
	if text == "" {
		return nil, nil
	}
	labels := map[string]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		label, number, _ := strings.Cut(pair, "=")
		label = strings.TrimSpace(label)
		version, ok := ParseVersion(strings.TrimSpace(number))
		switch {
		case !IsLabel(label):
			p.Fail(LabelsParameter, "has the label %q, must be a letter from a to z, then such letters, digits, _ or -", label)
		case !ok:
			p.Fail(LabelsParameter, "has %q, must be a label and a version such as %q", strings.TrimSpace(pair), label+"=1")
		case labels[label] != 0:
			p.Fail(LabelsParameter, "has the label %q twice", label)
		}
		labels[label] = version
	}
	if p.err != nil {
		return nil, p.err
	}
	return labels, nil
}

// FormatLabels writes labels as VersionLabels reads them, sorted.
func FormatLabels(labels map[string]int64) string {
	pairs := make([]string, 0, len(labels))
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, label+"="+strconv.FormatInt(labels[label], 10))
	}
	return strings.Join(pairs, ",")
}
