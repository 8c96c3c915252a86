package cluster

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"triptych/shared/config"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
)

// NATS says where the server in this process keeps jobs. It runs unless another
// one is given.
type NATS struct {
	// Directory is for what outlives a restart. Empty: a temporary one.
	Directory string
	// Address is where others may connect to the server; empty for nobody.
	Address string
	// Given tells which flags somebody has set: limits that nobody has are made to fit
	// the disk. Nil: none.
	Given func(flag string) bool
}

var _ config.Section = (*NATS)(nil)

// RegisterFlags implements config.Section.
func (n *NATS) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&n.Directory, "data-directory", n.Directory, "Folder for jobs, which outlive a restart; made when absent. Empty: a temporary one, deleted at the end.")
	fs.StringVar(&n.Address, "nats-address", n.Address, "Where other programs may connect to the NATS server of this process, without a password, HOST:PORT. Empty: nowhere.")
}

// Validate implements config.Section.
func (n *NATS) Validate() error {
	if n.Address == "" {
		return nil
	}
	if _, port, err := net.SplitHostPort(n.Address); err != nil || port == "" {
		return config.Wrong("nats-address", "is %q, must be HOST:PORT", n.Address)
	}
	return nil
}

// store is the NATS server of a cluster, with the folder that goes with it.
type store struct {
	server    *embedded.Server
	temporary string // to be deleted
	logger    *slog.Logger
}

// openStore starts the server and makes the services use it, unless they have
// another.
func openStore(cfg *Config, logs io.Writer) (*store, error) {
	s := &store{logger: telemetry.Logger("nats", cfg.Common.Telemetry, logs)}
	if cfg.Common.Stream.Enabled() {
		if cfg.NATS.Address != "" {
			return nil, config.Wrong("nats-address", "does not go with --nats-url: the server is another's")
		}
		return s, nil
	}
	directory := cfg.NATS.Directory
	if directory == "" {
		var err error
		if s.temporary, err = os.MkdirTemp("", "triptych-"); err != nil {
			return nil, failure.Wrap(err, failure.Internal, "a temporary folder for jobs can't be made")
		}
		directory = s.temporary
		s.logger.Warn("jobs are lost at the end: no --data-directory was given")
	}
	var err error
	s.server, err = embedded.Start(embedded.Config{Directory: filepath.Join(directory, "nats"), Address: cfg.NATS.Address, Logger: s.logger})
	if err != nil {
		s.close()
		return nil, failure.Prefix("--data-directory", err)
	}
	cfg.Common.Stream.InProcess = s.server
	s.fit(&cfg.Common.Stream, cfg.NATS.Given)
	return s, nil
}

// fit makes the limits fit the disk.
func (s *store) fit(cfg *stream.Config, given func(flag string) bool) {
	fitted, did := cfg.Limits.Fit(s.server.MaxBytes(), given)
	if !did {
		return
	}
	cfg.Limits = fitted
	s.logger.Warn("the limits of jobs are made smaller to fit the disk", "bytes", s.server.MaxBytes(),
		"jobs_backlog_bytes", fitted.BacklogBytes, "jobs_object_bytes", fitted.BlobBytes, "jobs_verdict_bytes", fitted.VerdictBytes,
		"jobs_dead_bytes", fitted.DeadBytes, "jobs_record_bytes", fitted.RecordBytes)
}

// close ends the server when nobody uses it any more.
func (s *store) close() {
	if s.server != nil {
		s.server.Stop()
	}
	if s.temporary == "" {
		return
	}
	if err := os.RemoveAll(s.temporary); err != nil {
		s.logger.Warn("the temporary folder of jobs was not deleted", "error", err)
	}
}
