package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"triptych/shared/failure"
)

// prefix begins the name of every environment variable that is ours.
const prefix = "TRIPTYCH_"

// Section is the settings of one package.
type Section interface {
	// RegisterFlags adds the section's flags, with its present values as the
	// defaults.
	RegisterFlags(fs *pflag.FlagSet)
	// Validate names the flag that is wrong.
	Validate() error
}

// reserved are variables of ours that a program need not have a flag for: the cache of
// builds, and what Makefile sets for all services at once.
var reserved = []string{prefix + "CACHE", prefix + "ONNXRUNTIME"}

// EnvName is the environment twin of a flag: --model-repository and
// TRIPTYCH_MODEL_REPOSITORY.
func EnvName(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Parse reads a program's settings: the arguments, then the environment for
// what no argument set. It returns pflag.ErrHelp after it has written the help.
// Warnings are variables that begin like ours and are none.
func Parse(program, summary string, args, environ []string, out io.Writer, sections ...Section) (warnings []string, err error) {
	fs := pflag.NewFlagSet(program, pflag.ContinueOnError)
	fs.SortFlags = true
	fs.SetOutput(out)
	fs.Usage = func() {
		fmt.Fprintf(out, "%s\n\nFlags (each setting has a twin in the environment, such as %s):\n%s", summary, EnvName("model-repository"), fs.FlagUsages())
	}
	for _, s := range sections {
		s.RegisterFlags(fs)
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, failure.New(failure.Invalid, "%s", err)
	}
	if fs.NArg() > 0 {
		return nil, failure.New(failure.Invalid, "%s takes flags only, not %q", program, fs.Arg(0))
	}
	if warnings, err = ApplyEnv(fs, environ); err != nil {
		return nil, err
	}
	return warnings, Validate(sections...)
}

// argumentOnly marks a flag without a twin.
const argumentOnly = "triptych_argument_only"

// ArgumentOnly takes the twins in the environment from flags that ask for a
// different action, such as --version: TRIPTYCH_VERSION in somebody's shell must
// not do that.
func ArgumentOnly(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		// The only error is a flag that is not there, which then has no twin.
		_ = fs.SetAnnotation(name, argumentOnly, nil)
	}
}

// ApplyEnv sets every flag that no argument has set from its twin in environ.
// An empty variable counts as absent.
func ApplyEnv(fs *pflag.FlagSet, environ []string) (warnings []string, err error) {
	values := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, prefix) && value != "" {
			values[name] = value
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[argumentOnly]; ok {
			return
		}
		name := EnvName(f.Name)
		value, ok := values[name]
		delete(values, name)
		if !ok || f.Changed || err != nil {
			return
		}
		if serr := fs.Set(f.Name, value); serr != nil {
			err = failure.Wrap(serr, failure.Invalid, "%s: %q is not a value for --%s", name, value, f.Name)
		}
	})
	for name := range values {
		if !slices.Contains(reserved, name) {
			warnings = append(warnings, name)
		}
	}
	slices.Sort(warnings)
	return warnings, err
}

// Validate asks each section in turn.
func Validate(sections ...Section) error {
	for _, s := range sections {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Wrong is the failure of a flag's value.
func Wrong(flag, format string, args ...any) error {
	return failure.New(failure.Invalid, "--%s %s", flag, fmt.Sprintf(format, args...))
}
