package preprocess

import (
	"strconv"
	"strings"

	"triptych/services/preprocess/transform"
)

// describe tells how the result is laid out, presets and defaults included, so
// that who has a tensor can turn it back into a picture.
func describe(s transform.Spec) map[string]string {
	d := map[string]string{
		"resize": string(s.Resize), "layout": string(s.Layout), "colors": string(s.Colors),
	}
	if n := s.Normalise; n != nil {
		count := s.Colors.Count()
		d["scale"], d["mean"], d["std"] = number(n.Scale), list(n.Mean[:count]), list(n.Std[:count])
	}
	return d
}

// number has all digits that tell it from its neighbours.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func list(values []float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = number(v)
	}
	return strings.Join(words, ",")
}
