// Package cli is the user's command, triptych. It speaks to a gateway over its
// public API alone.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// Streams are the outputs of a command, and its input, which may be nil.
type Streams struct {
	Out, Err io.Writer
	In       io.Reader
}

// Execute runs the command with arguments and an environment and returns the
// exit status: 0, 1 for a failure, 2 for a wrong call.
func Execute(ctx context.Context, args, environ []string, streams Streams) int {
	if streams.In == nil {
		streams.In = strings.NewReader("")
	}
	root := newRoot(environ, streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(streams.Err, "triptych: %s\n", explain(err))
	var f *failure.Error
	if errors.As(err, &f) {
		return 1
	}
	return 2
}

// explain shows causes only where the message does not say enough: whoever runs
// a command at a terminal can do something about a port that is taken.
func explain(err error) string {
	var f *failure.Error
	if errors.As(err, &f) && f.Kind != failure.Internal {
		return f.Message
	}
	return err.Error()
}

func newRoot(environ []string, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "triptych",
		Short:         "Serve image models, and ask them",
		Version:       telemetry.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			unknown, err := config.ApplyEnv(cmd.Flags(), environ)
			if cmd.Name() == "up" { // the others are called in environments made for it
				for _, name := range unknown {
					fmt.Fprintf(streams.Err, "triptych: %s is set, but no flag goes by it\n", name)
				}
			}
			return err
		},
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.AddCommand(newUp(streams), newClassify(streams), newPreprocess(streams), newModels(streams), newJobs(streams), newDLQ(streams),
		newStreams(streams), newVersion(streams))
	return root
}

func newVersion(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "triptych", telemetry.Version())
			return err
		},
	}
}

// serverFlags are what every command that asks a gateway has.
type serverFlags struct {
	server  string
	output  string
	timeout time.Duration
}

// register adds the flags; a timeout that is set is the default.
func (f *serverFlags) register(cmd *cobra.Command) {
	if f.timeout == 0 {
		f.timeout = 30 * time.Second
	}
	cmd.Flags().StringVar(&f.server, "server", "http://"+config.HTTPAddress, "The gateway's URL")
	cmd.Flags().StringVar(&f.output, "output", "text", "Form of the answer: text, json")
	cmd.Flags().DurationVar(&f.timeout, "timeout", f.timeout, "How long an answer may take")
}

func (f *serverFlags) client() (*client.Client, error) {
	if f.output != "text" && f.output != "json" {
		return nil, config.Wrong("output", "is %q, must be text or json", f.output)
	}
	return client.New(f.server, f.timeout)
}
