package report

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"triptych/loadtest/page"
	"triptych/shared/failure"
)

// Document is what came of a test.
type Document interface {
	// Text writes it for people, JSON for programs.
	Text(w io.Writer) error
	JSON(w io.Writer) error
	// Page is the document as a page without what it was run by.
	Page() *page.Report
	// Passed tells whether the test went well.
	Passed() bool
}

// File is where a document is kept.
type File struct {
	name string
	file *os.File // nil when it is kept nowhere
}

// Create makes the file before the test, for a test may take an hour. Without a
// name nothing is kept. An error is of Kind Invalid.
func Create(name string) (*File, error) {
	if name == "" {
		return &File{}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--report %s can't be written", name)
	}
	return &File{name, f}, nil
}

// Write writes the document: as a page when the file's name ends in .html, else as
// JSON. The command line is for the page.
func (f *File) Write(d Document, command string) error {
	switch {
	case f.file == nil:
		return nil
	case IsPage(f.name):
		p := d.Page()
		p.Command = command
		p.Facts = append(p.Facts, page.Fact{Name: "generator", Value: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())})
		return page.Write(f.file, p)
	default:
		return d.JSON(f.file)
	}
}

// IsPage tells whether a file of that name gets a page.
func IsPage(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".html") }

// Close ends the writing.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
