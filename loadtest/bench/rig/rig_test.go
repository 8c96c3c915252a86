package rig_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/rig"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/stack"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestFlags(t *testing.T) {
	o := rig.Default("it.html")
	fs := pflag.NewFlagSet("it", pflag.ContinueOnError)
	o.RegisterFlags(fs)
	if err := fs.Parse([]string{"--binaries", "a", "--models", "b", "--samples", "c", "--photographs", "2", "--page", "d"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rig.Options{Binaries: "a", Models: "b", Samples: "c", Photographs: 2, Page: "d"}, o); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	folder := t.TempDir()
	for _, name := range append(stack.Stages(), stack.Gateway) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		options rig.Options
		want    string
	}{
		"good":           {rig.Options{Binaries: folder, Photographs: 1}, ""},
		"no photographs": {rig.Options{Binaries: folder}, "--photographs is 0"},
		"no binaries":    {rig.Options{Binaries: "/nowhere", Photographs: 1}, "there is no /nowhere/preprocess"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.options.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDraw(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it.html")
	empty, full := rows.NewBook(io.Discard, io.Discard), rows.NewBook(io.Discard, io.Discard)
	full.Add(figure.Figure{Row: 1, Name: "it"})
	for name, tt := range map[string]struct {
		page  string
		book  *rows.Book
		drawn bool
	}{
		"no book": {file, nil, false},
		"no row":  {file, empty, false},
		"no page": {"", full, false},
		"one row": {file, full, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			o := rig.Options{Page: tt.page}
			if err := o.Draw("A title", "it", []string{"--rows", "1"}, tt.book, nil); err != nil {
				t.Error(err)
			}
			data, err := os.ReadFile(file)
			if (err == nil) != tt.drawn || tt.drawn && !strings.Contains(string(data), "it --rows 1") {
				t.Errorf("error %v, %d bytes", err, len(data))
			}
		})
	}
}
