package modelconfig

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Parameters reads the free-form `parameters` of a configuration with types and
// defaults. It remembers the first fault and every key that was asked for, so
// that Err can also name a key that nobody reads. Not for concurrent use.
type Parameters struct {
	model  string
	values map[string]*inference.ModelParameter
	known  []string
	err    error
}

// NewParameters starts to read the parameters of cfg.
func NewParameters(cfg *inference.ModelConfig) *Parameters {
	return &Parameters{model: cfg.GetName(), values: cfg.GetParameters(), known: slices.Clone(serverParameters)}
}

// Err is the first value that could not be read, or else the first key that was
// never asked for. It is Invalid and names the key.
func (p *Parameters) Err() error {
	if p.err != nil {
		return p.err
	}
	for _, key := range slices.Sorted(maps.Keys(p.values)) {
		if !slices.Contains(p.known, key) {
			return &blamed{error: failure.New(failure.Invalid, "model %q: unknown parameter %q%s", p.model, key, suggestion(key, p.known)), parameter: key}
		}
	}
	return nil
}

// Fail records that the value of key is wrong, for checks that need more than
// one value. The first fault stays.
func (p *Parameters) Fail(key, format string, args ...any) {
	if p.err == nil {
		p.err = &blamed{error: failure.Prefix("model "+strconv.Quote(p.model)+": parameter "+strconv.Quote(key), failure.New(failure.Invalid, format, args...)), parameter: key}
	}
}

func (p *Parameters) lookup(key string) (string, bool) {
	p.known = append(p.known, key)
	v, ok := p.values[key]
	return strings.TrimSpace(v.GetStringValue()), ok
}

// Text reads a text; fallback when absent.
func (p *Parameters) Text(key, fallback string) string {
	if v, ok := p.lookup(key); ok {
		return v
	}
	return fallback
}

// Word reads one of the allowed words, of which the first is the fallback.
func (p *Parameters) Word(key string, allowed ...string) string {
	v, ok := p.lookup(key)
	if !ok {
		return allowed[0]
	}
	if !slices.Contains(allowed, v) {
		p.Fail(key, "is %q, must be one of %s%s", v, strings.Join(allowed, ", "), suggestion(v, allowed))
		return allowed[0]
	}
	return v
}

// Int reads a whole number between least and most; fallback when absent.
func (p *Parameters) Int(key string, fallback, least, most int64) int64 {
	v, ok := p.lookup(key)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		p.Fail(key, "is %q, must be a whole number from %d to %d", v, least, most)
		return fallback
	}
	return n
}

// Bool reads true or false; fallback when absent.
func (p *Parameters) Bool(key string, fallback bool) bool {
	v, ok := p.lookup(key)
	if !ok {
		return fallback
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		p.Fail(key, "is %q, must be true or false", v)
		return fallback
	}
	return b
}

// Floats reads count finite numbers, separated by commas or blanks, one of which
// may stand for all; fallback when absent.
func (p *Parameters) Floats(key string, count int, fallback []float64) []float64 {
	v, ok := p.lookup(key)
	if !ok {
		return fallback
	}
	words := strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' })
	numbers := make([]float64, 0, len(words))
	for _, w := range words {
		f, err := strconv.ParseFloat(w, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			p.Fail(key, "has %q, which is not a finite number", w)
			return fallback
		}
		numbers = append(numbers, f)
	}
	if len(numbers) == 1 && count > 1 {
		return slices.Repeat(numbers, count)
	}
	if len(numbers) != count {
		p.Fail(key, "has %d numbers, must have %d", len(numbers), count)
		return fallback
	}
	return numbers
}
