package images

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rows"
	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows.Flags
	binary  string
	python  string
	pillow  string
	samples string
}

func defaultSettings(getenv func(string) string) settings {
	return settings{
		Flags: rows.Flags{
			Rows: []int{1, 2, 3, 4, 5, 6, 7, 8}, Last: 8, Rounds: 21, Window: 200 * time.Millisecond, Shortest: 10 * time.Millisecond,
			Output: "coverage/bench-preprocess.json",
		},
		binary: "bin/preprocess", python: "python3", pillow: getenv("PILLOW"), samples: "testdata/images",
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.Flags.RegisterFlags(fs)
	fs.StringVar(&s.binary, "preprocess", s.binary, "Our binary.")
	fs.StringVar(&s.python, "python", s.python, "The Python that runs Pillow.")
	fs.StringVar(&s.pillow, "pillow", s.pillow, "Folder with Pillow, as tools/pillow.sh fetches it ($PILLOW); empty for the one that Python has.")
	fs.StringVar(&s.samples, "samples", s.samples, "Folder with images for row 8.")
	s.RegisterOutput(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := s.Flags.Validate(); err != nil {
		return err
	}
	if info, err := os.Stat(s.samples); err != nil || !info.IsDir() {
		return config.Wrong("samples", "is %q, which is no folder", s.samples)
	}
	return nil
}

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	return []string{
		fmt.Sprintf("Medians of %d turns of %s. Ratios are the medians of those of neighbouring turns, by processor time, of processes on one core.", s.Rounds, s.Window),
	}
}
