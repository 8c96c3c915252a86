package bench

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/server"
	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows.Flags
	loads    []int
	rival    server.Rival
	analyzer string

	predictor   string
	standins    string
	classifiers string
}

// delayMark is replaced in the rival's command.
const delayMark = "{delay}"

func defaultSettings(getenv func(string) string) settings {
	return settings{
		Flags: rows.Flags{
			Rows: []int{1, 2, 3, 4, 5, 6}, Last: 6, Rounds: 3, Window: 10 * time.Second, Shortest: time.Second,
			Output: "coverage/bench-predictor.json",
		},
		loads: []int{5, 20, 35, 50, 65, 80, 95},
		rival: server.RivalOf(getenv), analyzer: getenv("PERF_ANALYZER"),
		predictor: "bin/predictor", standins: "tools/bench/models", classifiers: "models",
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.Flags.RegisterFlags(fs)
	fs.IntSliceVar(&s.loads, "loads", s.loads, "Row 2: loads in percent of the capacity.")
	s.rival.RegisterFlags(fs, "stand-in", delayMark+" for its greatest queue delay in microseconds")
	fs.StringVar(&s.analyzer, "perf-analyzer", s.analyzer, "Command of the shell that is perf_analyzer, for row 1; without it our own closed loop is used for both sides ($PERF_ANALYZER).")
	fs.StringVar(&s.predictor, "predictor", s.predictor, "Our binary.")
	fs.StringVar(&s.standins, "stand-ins", s.standins, "Repository with the stand-ins.")
	fs.StringVar(&s.classifiers, "classifiers", s.classifiers, "Repository with efficientnet_lite0.")
	s.RegisterOutput(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := s.Flags.Validate(); err != nil {
		return err
	}
	for _, load := range s.loads {
		if load < 1 || load > 200 {
			return config.Wrong("loads", "has %d, must be from 1 to 200", load)
		}
	}
	return s.rival.Validate()
}

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	notes := append([]string{fmt.Sprintf("Medians of %d, each of %s.", s.Rounds, s.Window)}, s.rival.Notes()...)
	if s.analyzer == "" && s.Has(1) {
		notes = append(notes, "No perf_analyzer was given ($PERF_ANALYZER), so row 1 was driven by our own closed loop.")
	}
	return notes
}
