// Package rig is what the benchmarks of the whole chain have in common: the flags that
// say what runs, what is sent and where the page goes. It measures nothing.
package rig

import (
	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/sheet"
	"triptych/loadtest/bench/stack"
	"triptych/loadtest/page"
	"triptych/shared/config"
)

// Options are the flags.
type Options struct {
	// Binaries is the folder with our programs, Models the repository.
	Binaries, Models string
	// Samples is the folder of which Photographs parts are sent.
	Samples     string
	Photographs int
	// Page is the file for the report as a web page; empty for none.
	Page string
}

var _ config.Section = (*Options)(nil)

// Default is what there is after make build, with a page.
func Default(page string) Options {
	return Options{Binaries: "bin", Models: "models", Samples: "testdata/images", Photographs: 64, Page: page}
}

// RegisterFlags implements config.Section.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Binaries, "binaries", o.Binaries, "Folder with our binaries.")
	fs.StringVar(&o.Models, "models", o.Models, "Repository with our models.")
	fs.StringVar(&o.Samples, "samples", o.Samples, "Folder with the photographs of which parts are sent.")
	fs.IntVar(&o.Photographs, "photographs", o.Photographs, "How many different ones are sent.")
	fs.StringVar(&o.Page, "page", o.Page, "File for the report as a web page; empty for none.")
}

// Validate implements config.Section. Our programs must be there.
func (o *Options) Validate() error {
	if o.Photographs < 1 {
		return config.Wrong("photographs", "is %d, must be 1 or more", o.Photographs)
	}
	return stack.Built(o.Binaries)
}

// Draw writes the page of what a program found, if it is wanted and there is something
// to show. A book that is nil has nothing.
func (o *Options) Draw(title, program string, args []string, book *rows.Book, runs []page.Run) error {
	if book == nil || len(book.Report.Figures) == 0 || o.Page == "" {
		return nil
	}
	command := page.CommandLine(append([]string{program}, args...))
	return sheet.Write(o.Page, title, command, book.Report, runs)
}
