package modelconfig

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triptych/proto/inference"
)

// suggestion is `, did you mean "x"?` for the candidate that is nearest to
// word, or nothing when none is near.
func suggestion(word string, candidates []string) string {
	best, distance := "", len(word)/2+1
	for _, c := range candidates {
		// A field of another message may have the very name.
		if d := editDistance(word, c); d > 0 && d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// fieldNames lists every field that a configuration can have, at any depth.
func fieldNames() []string {
	var names []string
	seen := map[protoreflect.FullName]bool{}
	var visit func(protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			names = append(names, string(f.Name()))
			if f.Message() != nil {
				visit(f.Message())
			}
		}
	}
	visit((&inference.ModelConfig{}).ProtoReflect().Descriptor())
	slices.Sort(names)
	return slices.Compact(names)
}
