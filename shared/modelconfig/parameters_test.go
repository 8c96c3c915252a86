package modelconfig_test

import (
	"slices"
	"testing"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

func parameters(pairs ...string) *modelconfig.Parameters {
	cfg := &inference.ModelConfig{Name: "m", Parameters: map[string]*inference.ModelParameter{}}
	for i := 0; i < len(pairs); i += 2 {
		cfg.Parameters[pairs[i]] = &inference.ModelParameter{StringValue: pairs[i+1]}
	}
	return modelconfig.NewParameters(cfg)
}

func TestParametersRead(t *testing.T) {
	p := parameters("text", " a b ", "word", "bilinear", "int", "-5", "bool", "True", "mean", "0.485, 0.456 0.406", "list", "[1,2]", "scale", "0.5")
	fallback := []float64{9}
	for what, ok := range map[string]bool{
		"text":               p.Text("text", "x") == "a b",
		"no text":            p.Text("no text", "x") == "x",
		"word":               p.Word("word", "bicubic", "bilinear") == "bilinear",
		"no word":            p.Word("no word", "bicubic", "bilinear") == "bicubic",
		"int":                p.Int("int", 1, -5, 5) == -5,
		"no int":             p.Int("no int", 100, 0, 5) == 100,
		"bool":               p.Bool("bool", false),
		"no bool":            p.Bool("no bool", true),
		"floats":             slices.Equal(p.Floats("mean", 3, fallback), []float64{0.485, 0.456, 0.406}),
		"floats in brackets": slices.Equal(p.Floats("list", 2, fallback), []float64{1, 2}),
		"one float for all":  slices.Equal(p.Floats("scale", 3, fallback), []float64{0.5, 0.5, 0.5}),
		"no floats":          slices.Equal(p.Floats("no floats", 3, fallback), fallback),
	} {
		if !ok {
			t.Errorf("%s is read wrongly", what)
		}
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestParametersRefuse(t *testing.T) {
	tests := map[string]struct {
		value   string
		read    func(p *modelconfig.Parameters)
		message string
	}{
		"word":            {"bilinar", func(p *modelconfig.Parameters) { p.Word("k", "bicubic", "bilinear") }, `is "bilinar", must be one of bicubic, bilinear, did you mean "bilinear"?`},
		"word unlike all": {"xyz", func(p *modelconfig.Parameters) { p.Word("k", "bicubic", "bilinear") }, `is "xyz", must be one of bicubic, bilinear`},
		"int too small":   {"0", func(p *modelconfig.Parameters) { p.Int("k", 1, 1, 5) }, `is "0", must be a whole number from 1 to 5`},
		"int too large":   {"6", func(p *modelconfig.Parameters) { p.Int("k", 1, 1, 5) }, `is "6", must be a whole number from 1 to 5`},
		"int overflows":   {"9223372036854775808", func(p *modelconfig.Parameters) { p.Int("k", 1, 1, 5) }, `is "9223372036854775808", must be a whole number from 1 to 5`},
		"no int":          {"2.5", func(p *modelconfig.Parameters) { p.Int("k", 1, 1, 5) }, `is "2.5", must be a whole number from 1 to 5`},
		"empty int":       {"", func(p *modelconfig.Parameters) { p.Int("k", 1, 1, 5) }, `is "", must be a whole number from 1 to 5`},
		"bool":            {"yes", func(p *modelconfig.Parameters) { p.Bool("k", false) }, `is "yes", must be true or false`},
		"NaN":             {"1 NaN 3", func(p *modelconfig.Parameters) { p.Floats("k", 3, nil) }, `has "NaN", which is not a finite number`},
		"Inf":             {"-Inf", func(p *modelconfig.Parameters) { p.Floats("k", 1, nil) }, `has "-Inf", which is not a finite number`},
		"1e400":           {"1e400", func(p *modelconfig.Parameters) { p.Floats("k", 1, nil) }, `has "1e400", which is not a finite number`},
		"no number":       {"1,a", func(p *modelconfig.Parameters) { p.Floats("k", 2, nil) }, `has "a", which is not a finite number`},
		"two of three":    {"1 2", func(p *modelconfig.Parameters) { p.Floats("k", 3, nil) }, `has 2 numbers, must have 3`},
		"no numbers":      {"", func(p *modelconfig.Parameters) { p.Floats("k", 3, nil) }, `has 0 numbers, must have 3`},
		"own check":       {"1", func(p *modelconfig.Parameters) { p.Text("k", ""); p.Fail("k", "is %d", 1) }, "is 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := parameters("k", tt.value, "unread", "")
			tt.read(p)
			p.Fail("k", "a later fault")
			wantFailure(t, p.Err(), failure.Invalid, `model "m": parameter "k": `+tt.message)
		})
	}
}

func TestUnknownParameters(t *testing.T) {
	p := parameters("resize", "1", "rezise", "2", "unlike", "3")
	p.Text("resize", "")
	wantFailure(t, p.Err(), failure.Invalid, `model "m": unknown parameter "rezise", did you mean "resize"?`)
	p.Text("rezise", "")
	wantFailure(t, p.Err(), failure.Invalid, `model "m": unknown parameter "unlike"`)
	p.Text("unlike", "")
	if err := p.Err(); err != nil {
		t.Error(err)
	}
	if err := modelconfig.NewParameters(&inference.ModelConfig{}).Err(); err != nil {
		t.Error(err)
	}
}
