package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rows"
	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows.Flags
	binaries string
	nats     string
	models   string
	standins string
	ensemble string
	many     int
	callers  int
}

func defaultSettings() settings {
	return settings{
		Flags: rows.Flags{
			Rows: []int{1, 2, 3, 4}, Last: 4, Rounds: 5, Window: 8 * time.Second, Shortest: time.Second,
			Output: "coverage/bench-jobs.json",
		},
		binaries: "bin", nats: "bin/tools/nats-server", models: "models", standins: "tools/bench/models", ensemble: "tools/bench/jobs",
		many: 100_000, callers: 32,
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.Flags.RegisterFlags(fs)
	fs.StringVar(&s.binaries, "binaries", s.binaries, "Folder with our binaries.")
	fs.StringVar(&s.nats, "nats-server", s.nats, "The NATS server's binary.")
	fs.StringVar(&s.models, "models", s.models, "Repository with the steps before and after the stand-in.")
	fs.StringVar(&s.standins, "stand-ins", s.standins, "Repository with the stand-in.")
	fs.StringVar(&s.ensemble, "ensemble", s.ensemble, "Repository with the ensemble of them.")
	fs.IntVar(&s.many, "many", s.many, "Row 3: items of the large job; the small one has a tenth.")
	fs.IntVar(&s.callers, "callers", s.callers, "Row 1: callers of the sync road.")
	s.RegisterOutput(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := s.Flags.Validate(); err != nil {
		return err
	}
	switch {
	case s.many < smallPart:
		return config.Wrong("many", "is %d, must be %d or more", s.many, smallPart)
	case s.callers < 1:
		return config.Wrong("callers", "is %d, must be 1 or more", s.callers)
	}
	for _, name := range []string{s.nats, s.binary("gateway"), s.binary("preprocess"), s.binary("predictor"), s.binary("postprocess")} {
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("there is no %s: make build makes ours, make tools the rest", name)
		}
	}
	return nil
}

func (s *settings) binary(name string) string { return filepath.Join(s.binaries, name) }

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	return []string{
		fmt.Sprintf("Medians of %d rounds, windows of %s. Ratios are the medians of those of neighbouring turns.", s.Rounds, s.Window),
		"NATS and the four services are processes of their own, beside the generator on the same cores. NATS syncs each write before it is acknowledged.",
	}
}
