package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"triptych/shared/config"
	"triptych/shared/failure"
)

const help = `Loadtest sends images to a server and measures how long the labels take.

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

With --deadline each request says how long it may take, from when it was due.
What is answered later is the error "timeout"; what the server refuses earlier
is an error of its own, shown with how soon it was known.

Answers can be checked: --expected against known labels, --verify-consistent
against the first answer for the same image.

Latencies are those of good answers. The report goes to standard output, the
progress to standard error. Ctrl-C ends a test early, with a report.

Exit status: 0 if all requests were answered, 1 if some failed or were answered
wrongly (--allow-errors makes this 0) or none was sent, 2 if the test could not
be run. Errors during --warmup are shown and don't count.`

const examples = `  loadtest testdata/images --concurrency 32 --requests 20000 --verify-consistent
  loadtest testdata/images --protocol grpc --rate 200 --duration 60s --warmup 5s --report r.json
  loadtest testdata/images --protocol rest --url http://127.0.0.1:18000 --expected testdata/expected.json --expected-version 1
  loadtest --protocol grpc --model efficientnet_lite0 --tensor image:UINT8:224,224,3 --rate 100 --deadline 100ms`

// newCommand makes the command. Its outcome is the exit status.
func newCommand(ctx context.Context, environ []string, stdout, stderr io.Writer, status *int) *cobra.Command {
	s := defaultSettings()
	cmd := &cobra.Command{
		Use:           "loadtest [flags] [IMAGE_OR_FOLDER...]",
		Short:         "Measure a server that classifies images",
		Long:          help,
		Example:       examples,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A variable of another program of ours is no mistake here.
			if _, err := config.ApplyEnv(cmd.Flags(), environ); err != nil {
				return err
			}
			s.images = append(args, s.images...)
			if err := s.Validate(); err != nil {
				return err
			}
			if cmd.Flags().Changed("rate") && s.open() && cmd.Flags().Changed("concurrency") {
				return config.Wrong("rate", "and --concurrency can't both be given: one is an open loop, the other a closed one")
			}
			if len(s.images) == 0 && s.tensor == "" {
				return failure.New(failure.Invalid, "give an image or a folder of images")
			}
			passed, err := runTest(ctx, &s, stdout, stderr)
			if err == nil && !passed && !s.allowErrors {
				*status = statusErrors
			}
			return err
		},
	}
	s.RegisterFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cmd
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	status := statusGood
	cmd := newCommand(ctx, environ, stdout, stderr, &status)
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		_, _ = io.WriteString(stderr, "loadtest: "+err.Error()+"\n")
		return statusNotRun
	}
	return status
}
