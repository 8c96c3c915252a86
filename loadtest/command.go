package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"triptych/loadtest/page"
	"triptych/loadtest/report"
	"triptych/loadtest/stage"
	"triptych/loadtest/workload"
	"triptych/shared/config"
)

const help = `Loadtest sends images to a server and measures how long the labels take.

Without the name of a command it puts one load on one server. The commands do more:
run follows a scenario file of stages, mixes and conditions; search looks for the
highest rate or the capacity; compare measures two servers in turn.

With --tensor it sends random tensors over gRPC to any model instead.

It speaks the gateway's POST /v1/classify, and the Open Inference Protocol over
REST (binary tensors) and gRPC, which Triton and KServe speak too. All images
are read first and sent in turn.

Closed loop (--concurrency): so many requests are in flight, and each answer
lets the next request go. This finds the greatest throughput. A slow server gets
less load, so that the latencies look better than they are for users who don't
wait for each other.

Open loop (--rate): requests are sent at random times, so many a second on
average, however long the answers take. Latency counts from when a request was
due, so that a stall shows as all the waiting that it caused. This is the one to
judge latency by. What is due while --max-outstanding are in flight is not sent
and counts as the error "overrun".

A closed loop's report also has latencies corrected as HdrHistogram does it: as if
each caller had kept its rhythm, a request each median, while the server stalled.

With --warmup auto what comes first is not measured until throughput and latency no
longer drift (MSER over windows of half a second), at most --warmup-most.

With --deadline each request says how long it may take, from when it was due.
What is answered later is the error "timeout"; what the server refuses earlier
is an error of its own, shown with how soon it was known.

Answers can be checked: --expected against known labels, --verify-consistent
against the first answer for the same image.

Latencies are those of good answers. The report goes to standard output, the
progress to standard error. Ctrl-C ends a test early, with a report.
A report file that ends in .html is a page for a browser.

Exit status: 0 if all requests were answered, 1 if some failed or were answered
wrongly (--allow-errors makes this 0) or none was sent, 2 if the test could not
be run: nothing answers at the URL, or the server refuses for good, such as for a
model that it does not have. Errors during --warmup are shown and don't count.`

const examples = `  loadtest testdata/images --concurrency 32 --requests 20000 --verify-consistent
  loadtest testdata/images --protocol grpc --rate 200 --duration 60s --warmup 5s --report r.json
  loadtest testdata/images --protocol rest --url http://127.0.0.1:18000 --expected testdata/expected.json --expected-version 1
  loadtest --protocol grpc --model efficientnet_lite0 --tensor image:UINT8:224,224,3 --rate 100 --deadline 100ms`

// program is one run of the program.
type program struct {
	ctx            context.Context //nolint:containedctx // the program's own lifetime
	environ        []string
	stdout, stderr io.Writer
	// command is the command line, for reports.
	command string
	status  int
}

// newCommand makes the command.
func (p *program) newCommand() *cobra.Command {
	s := defaultSettings()
	cmd := hidden(&cobra.Command{
		Use:     "loadtest [flags] [IMAGE_OR_FOLDER...]",
		Short:   "Measure a server that classifies images",
		Long:    help,
		Example: examples,
		Args:    cobra.ArbitraryArgs,
		// A variable of another program of ours is no mistake here.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			_, err := config.ApplyEnv(cmd.Flags(), p.environ)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Images = append(args, s.Images...)
			if err := errors.Join(s.Validate(), s.checkOneLoop(cmd.Flags())); err != nil {
				return err
			}
			return p.runTest(&s)
		},
	})
	s.RegisterFlags(cmd.Flags())
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetOut(p.stdout)
	cmd.SetErr(p.stderr)
	cmd.AddCommand(p.newRun(), p.newSearch(), p.newCompare())
	return cmd
}

// runTest runs the warm-up and the test and writes the reports. It passes when
// there were answers and no errors.
func (p *program) runTest(s *settings) error {
	one := s.stage()
	spec := s.spec(one.InFlight())
	return p.send(s.outputFlags, []workload.Spec{spec}, s.seed, one.Timeout, func(work *workload.Workload, probes *probes) report.Document {
		runner := stage.Runner{Workload: work, Progress: p.progress(s.outputFlags), Begin: func() { probes.begin(p.ctx) }}
		result := runner.Run(p.ctx, one)
		return report.Report{Settings: s.describe(spec, one, work.Items()), Stage: result, ErrorsExcused: s.allowErrors, Usage: probes.end(p.ctx)}
	})
}

// send makes the report's file and prepares the requests, looks whether a server
// answers one within the timeout, has them sent by act, and writes what came of them.
func (p *program) send(o outputFlags, specs []workload.Spec, seed uint64, timeout time.Duration, act func(*workload.Workload, *probes) report.Document) (err error) {
	file, err := report.Create(o.report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	work, err := workload.New(specs, seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.Close()) }()
	probes, err := newProbes(specs, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, probes.close()) }()
	if err := p.contact(o, work, timeout); err != nil {
		return err
	}
	return p.finish(file, act(work, probes))
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	p := program{ctx: ctx, environ: environ, stdout: stdout, stderr: stderr, command: page.CommandLine(append([]string{"loadtest"}, args...)), status: statusGood}
	cmd := p.newCommand()
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		_, _ = io.WriteString(stderr, "loadtest: "+err.Error()+"\n")
		return statusNotRun
	}
	return p.status
}
