package config_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"triptych/shared/config"
	"triptych/shared/failure"
)

// settings are a section with one flag of each kind.
type settings struct {
	Folders []string
	Delay   time.Duration
	Count   int
	Verbose bool
	version bool
}

func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&s.Folders, "model-repository", s.Folders, "Folder with models.")
	fs.DurationVar(&s.Delay, "drain-delay", s.Delay, "How long.")
	fs.IntVar(&s.Count, "count", s.Count, "How many.")
	fs.BoolVar(&s.Verbose, "verbose", s.Verbose, "Say more.")
	fs.BoolVar(&s.version, "version", false, "Print the version.")
	config.ArgumentOnly(fs, "version", "absent")
}

func (s *settings) Validate() error {
	if s.Count > 9 {
		return config.Wrong("count", "is %d, must be at most %d", s.Count, 9)
	}
	return nil
}

func TestParse(t *testing.T) {
	defaults := settings{Folders: []string{"models"}, Count: 3}
	tests := map[string]struct {
		args, environ []string
		want          settings
		warnings      []string
		message       string
	}{
		"defaults":                    {nil, nil, defaults, nil, ""},
		"flags":                       {[]string{"--model-repository", "a", "--model-repository=b", "--drain-delay=2s", "--verbose"}, nil, settings{Folders: []string{"a", "b"}, Delay: 2 * time.Second, Count: 3, Verbose: true}, nil, ""},
		"twins":                       {nil, []string{"TRIPTYCH_MODEL_REPOSITORY=a,b", "TRIPTYCH_DRAIN_DELAY=1m", "TRIPTYCH_COUNT=5", "TRIPTYCH_VERBOSE=true"}, settings{Folders: []string{"a", "b"}, Delay: time.Minute, Count: 5, Verbose: true}, nil, ""},
		"a flag goes before its twin": {[]string{"--count=7"}, []string{"TRIPTYCH_COUNT=5"}, settings{Folders: []string{"models"}, Count: 7}, nil, ""},
		"even one at its default":     {[]string{"--count=3"}, []string{"TRIPTYCH_COUNT=5"}, defaults, nil, ""},
		"even before a wrong one":     {[]string{"--count=3"}, []string{"TRIPTYCH_COUNT=x"}, defaults, nil, ""},
		"an empty twin is absent":     {nil, []string{"TRIPTYCH_COUNT=", "TRIPTYCH_X=", "COUNT=5", "=C:"}, defaults, nil, ""},
		"unknown variables": {
			nil,
			[]string{"TRIPTYCH_ZEBRA=1", "TRIPTYCH_CACHE=/c", "TRIPTYCH_ONNXRUNTIME=/c/lib.so", "HOME=/", "TRIPTYCH_CONT=4", "triptych_count=5"},
			defaults,
			[]string{"TRIPTYCH_CONT", "TRIPTYCH_ZEBRA"},
			"",
		},
		"actions have no twin": {nil, []string{"TRIPTYCH_VERSION=1.2.3"}, defaults, []string{"TRIPTYCH_VERSION"}, ""},
		"action":               {[]string{"--version"}, nil, settings{Folders: []string{"models"}, Count: 3, version: true}, nil, ""},
		"wrong flag":           {[]string{"--cuont=7"}, nil, defaults, nil, "unknown flag: --cuont"},
		"wrong value":          {[]string{"--count=x"}, nil, defaults, nil, `invalid argument "x" for "--count" flag: must be an integer`},
		"wrong twin":           {nil, []string{"TRIPTYCH_DRAIN_DELAY=5"}, defaults, nil, `TRIPTYCH_DRAIN_DELAY: "5" is not a value for --drain-delay`},
		"argument":             {[]string{"serve"}, nil, defaults, nil, `prog takes flags only, not "serve"`},
		"out of range":         {nil, []string{"TRIPTYCH_COUNT=10"}, settings{Folders: []string{"models"}, Count: 10}, nil, "--count is 10, must be at most 9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := defaults
			var out bytes.Buffer
			warnings, err := config.Parse("prog", "Does it.", tt.args, tt.environ, &out, &got)
			switch {
			case err == nil && tt.message != "":
				t.Errorf("no error, want %q", tt.message)
			case err != nil && (failure.Message(err) != tt.message || failure.KindOf(err) != failure.Invalid):
				t.Errorf("got %s %q, want %q", failure.KindOf(err), failure.Message(err), tt.message)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Error(diff)
			}
			if out.Len() > 0 {
				t.Errorf("wrote %q", &out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		var out bytes.Buffer
		_, err := config.Parse("prog", "Does it.", []string{flag}, nil, &out, &settings{Folders: []string{"models"}})
		if !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%s: got %v, want ErrHelp", flag, err)
		}
		const want = `Does it.

Flags (each setting has a twin in the environment, such as TRIPTYCH_MODEL_REPOSITORY):
      --count int                  How many.
      --drain-delay duration       How long.
      --model-repository strings   Folder with models. (default [models])
      --verbose[=true|false]       Say more.
      --version[=true|false]       Print the version.
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", flag, diff)
		}
	}
}

func TestSectionsAreValidatedInTurn(t *testing.T) {
	wrong := settings{Count: 11}
	err := config.Validate(&settings{}, &wrong, &settings{Count: 12})
	if err == nil || !strings.Contains(err.Error(), "--count is 11") {
		t.Errorf("got %v, want the first that is wrong", err)
	}
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
}
