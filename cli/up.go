package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triptych/cli/cluster"
	"triptych/shared/config"
	"triptych/shared/failure"
)

func newUp(streams Streams) *cobra.Command {
	cfg := cluster.DefaultConfig()
	cfg.Common.Repository = []string{defaultRepository()}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run all services in one process",
		Long: `Runs the gateway, preprocess, predictor and postprocess in one process, each on
its own ports of loopback, with the last traces kept in memory and jobs kept by a
NATS server of its own, unless --nats-url names another. Writes one line
that begins with "ready" to standard output when it can serve; logs go to
standard error. Ends on SIGTERM or an interrupt. Each flag has a twin in the
environment, such as TRIPTYCH_MODEL_REPOSITORY.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Validate(sections(&cfg)...); err != nil {
				return err
			}
			defer cfg.Common.TuneProcess("triptych", streams.Err)()
			cfg.NATS.Given = cmd.Flags().Changed
			err := cluster.Run(cmd.Context(), cfg, streams.Err, func(r cluster.Ready) { writeReady(streams, r) })
			return known(err)
		},
	}
	for _, s := range sections(&cfg) {
		s.RegisterFlags(cmd.Flags())
	}
	hide(cmd.Flags(), "upstreams") // further services beside the four
	cmd.Flags().Lookup("nats-url").Usage = "NATS servers for jobs, with commas between, such as nats://nats:4222. Empty: one in this process."
	return cmd
}

// writeReady tells, in one line, where to ask, and what can't be asked.
func writeReady(streams Streams, r cluster.Ready) {
	fmt.Fprintf(streams.Out, "ready http=http://%s grpc=%s admin=http://%s models=%d\n", r.HTTP, r.GRPC, r.Admin, r.Models)
	if r.Failed > 0 {
		fmt.Fprintf(streams.Err, "triptych: %d models are not served, `triptych models --server http://%s` says why\n", r.Failed, r.HTTP)
	}
}

func sections(c *cluster.Config) []config.Section {
	return []config.Section{&c.Common, &c.Gateway, &c.Preprocess, &c.Predictor, &c.Postprocess, &c.NATS}
}

// hide leaves flags usable that few need here.
func hide(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
}

// defaultRepository is the folder models here, or the one that came with the
// program.
func defaultRepository() string {
	const folder = "models"
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return folder
	}
	if program, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(filepath.Dir(program)), folder)
		if info, err := os.Stat(beside); err == nil && info.IsDir() {
			return beside
		}
	}
	return folder
}

// known makes every end of the services a failure of running, not of the call.
func known(err error) error {
	var f *failure.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return failure.Wrap(err, failure.Internal, "the services ended")
}
