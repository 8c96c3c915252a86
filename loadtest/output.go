package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triptych/loadtest/report"
	"triptych/loadtest/scrape"
)

// outputFlags say what is shown and kept.
type outputFlags struct {
	report      string
	allowErrors bool
	quiet       bool
	metrics     []string
}

func (o *outputFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&o.report, "report", o.report, "File for the report: a page for a browser if it ends in .html, else JSON.")
	fs.BoolVar(&o.allowErrors, "allow-errors", o.allowErrors, "Requests that fail don't make the exit status 1. A condition that is not met, or a search that finds nothing, still does.")
	fs.BoolVar(&o.quiet, "quiet", o.quiet, "Show no progress.")
}

// registerMetrics adds the flag of commands whose page shows what servers did.
func (o *outputFlags) registerMetrics(fs *pflag.FlagSet) {
	fs.StringArrayVar(&o.metrics, "metrics", nil, "NAME=URL of a process's Prometheus metrics, whose processor time and memory the page shows. May be given again. Empty for port "+scrape.AdminPort()+" of a server at a default port.")
}

// finish writes a document as text and into the report's file, and sets the exit
// status.
func (p *program) finish(file *report.File, d report.Document) error {
	if !d.Passed() {
		p.status = statusErrors
	}
	return errors.Join(d.Text(p.stdout), file.Write(d, p.command))
}

// progress shows a running test on standard error.
func (p *program) progress(o outputFlags) *report.Progress {
	if o.quiet {
		return report.NewProgress(io.Discard, false)
	}
	return report.NewProgress(p.stderr, isTerminal(p.stderr))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say writes a line to standard output while a test runs.
func (p *program) say(line string) { _, _ = io.WriteString(p.stdout, line+"\n") }

// hidden is a command without the completion that nobody asked for.
func hidden(cmd *cobra.Command) *cobra.Command {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Flags().SortFlags = false
	return cmd
}
