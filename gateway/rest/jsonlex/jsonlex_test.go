package jsonlex_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"triptych/gateway/rest/jsonlex"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSkipChecks(t *testing.T) {
	cases := map[string]struct {
		text string
		good bool
	}{
		"scalars":               {`[1, -2.5e+3, true, false, null, "x"]`, true},
		"empty":                 {`{}`, true},
		"blanks":                {" \t\r\n[ ] ", true},
		"escapes":               {`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, true},
		"nothing":               {``, false},
		"bare NaN":              {`[NaN]`, false},
		"leading zero":          {`01`, false},
		"plus":                  {`+1`, false},
		"lonely point":          {`1.`, false},
		"lonely exponent":       {`1e`, false},
		"comma at the end":      {`[1,]`, false},
		"comma in an object":    {`{"a":1,}`, false},
		"no colon":              {`{"a" 1}`, false},
		"key without quotes":    {`{a:1}`, false},
		"unclosed":              {`[1`, false},
		"unclosed text":         {`"a`, false},
		"unclosed escape":       {`"\`, false},
		"unknown escape":        {`"\x"`, false},
		"short escape":          {`"\u12"`, false},
		"half a surrogate pair": {`"\ud83d"`, false},
		"wrong second half":     {`"\ud83d\u0041"`, false},
		"control character":     {"\"a\nb\"", false},
		"not UTF-8":             {"\"\xff\"", false},
		"text after it":         {`1 2`, false},
		"100 levels":            {strings.Repeat("[", 100) + strings.Repeat("]", 100), true},
		"101 levels":            {strings.Repeat("[", 101) + strings.Repeat("]", 101), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := jsonlex.New([]byte(tc.text))
			err := l.Skip()
			if err == nil {
				err = l.End()
			}
			if (err == nil) != tc.good {
				t.Fatalf("got %v, want good = %v", err, tc.good)
			}
			if err != nil && failure.KindOf(err) != failure.Invalid {
				t.Errorf("the failure is %v", failure.KindOf(err))
			}
		})
	}
}

func TestWhole(t *testing.T) {
	cases := map[string]struct {
		negative  bool
		magnitude uint64
		ok        bool
	}{
		"0":                       {false, 0, true},
		"-0":                      {true, 0, true},
		"7":                       {false, 7, true},
		"9007199254740993":        {false, 9007199254740993, true},
		"-9223372036854775808":    {true, 1 << 63, true},
		"18446744073709551615":    {false, math.MaxUint64, true},
		"18446744073709551616":    {false, 0, false},
		"1.0":                     {false, 1, true},
		"1.000":                   {false, 1, true},
		"1.5":                     {false, 0, false},
		"1e3":                     {false, 1000, true},
		"1.25e2":                  {false, 125, true},
		"1500e-2":                 {false, 15, true},
		"1e-1":                    {false, 0, false},
		"0e99999999999999999999":  {false, 0, true},
		"1e99999999999999999999":  {false, 0, false},
		"1e-99999999999999999999": {false, 0, false},
		"9007199254740993.0":      {false, 9007199254740993, true},
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			negative, magnitude, _, ok, err := jsonlex.New([]byte(text)).Whole()
			if err != nil || ok != want.ok || ok && (negative != want.negative || magnitude != want.magnitude) {
				t.Errorf("got %v %d %v %v, want %+v", negative, magnitude, ok, err, want)
			}
		})
	}
}

func TestFields(t *testing.T) {
	read := func(text string) (string, error) {
		l, got := jsonlex.New([]byte(text)), ""
		err := l.Fields([]string{"a", "b"}, func(i int) error {
			value, err := l.Text()
			got += string(rune('0'+i)) + string(value)
			return err
		})
		return got, err
	}
	if got, err := read(`{"b":"x","c":[{"d":1}],"a":null}`); err != nil || got != "1x" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := read(`{"a":"x","a":"y"}`); failure.KindOf(err) != failure.Invalid {
		t.Errorf("a name that comes twice: %v", err)
	}
}

// FuzzSkip holds the lexer against the standard library: it accepts nothing that
// encoding/json refuses, and what it refuses beyond that is depth or UTF-8.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u00e9"],"b":null}`, `[[[]]]`, `"\ud83d\ude00"`, `-0.0e-0`, "\"\xff\"", `1e400`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := jsonlex.New(data)
		err := l.Skip()
		if err == nil {
			err = l.End()
		}
		valid := json.Valid(data)
		if err == nil && !valid {
			t.Fatalf("%q is taken for JSON", data)
		}
		strict := !utf8.Valid(data) || strings.Contains(string(data), `\u`) || strings.Count(string(data), "[")+strings.Count(string(data), "{") > jsonlex.MaxDepth
		if err != nil && valid && !strict {
			t.Fatalf("%q is refused: %v", data, err)
		}
		var known *failure.Error
		if err != nil && !errors.As(err, &known) {
			t.Fatalf("%v has no Kind", err)
		}
	})
}

// FuzzText compares texts with those of the standard library.
func FuzzText(f *testing.F) {
	f.Add([]byte(`"plain"`))
	f.Add([]byte(`"\u00e9\n\ud83d\ude00"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := jsonlex.New(data)
		got, err := l.Text()
		if err != nil || l.End() != nil {
			return
		}
		var want string
		if err := json.Unmarshal(data, &want); err != nil || want != string(got) {
			t.Fatalf("%q gives %q, the standard library %q (%v)", data, got, want, err)
		}
	})
}
