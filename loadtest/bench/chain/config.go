package chain

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rig"
	"triptych/loadtest/bench/rows"
	"triptych/loadtest/bench/server"
	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows.Flags
	rig.Options
	rival server.Rival
	// turns of a fifth of a window are what a round of the rows 5 and 6 has.
	turns    int
	standins string
	// library is that of ONNX Runtime, for row 5.
	library string
}

// modelMark is replaced in the rival's command, by "1", "2" or "accelerator".
const modelMark = "{model}"

func defaultSettings(getenv func(string) string) settings {
	return settings{
		Flags: rows.Flags{
			Rows: []int{1, 2, 3, 4, 5, 6, 7, 8}, Last: 8, Rounds: 3, Window: 10 * time.Second, Shortest: 100 * time.Millisecond,
			Output: "coverage/bench-chain.json",
		},
		Options: rig.Default("coverage/bench.html"),
		rival:   server.RivalOf(getenv), turns: 5, standins: "tools/bench/models", library: getenv("TRIPTYCH_ONNXRUNTIME"),
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	s.Flags.RegisterFlags(fs)
	s.rival.RegisterFlags(fs, "chain", modelMark+" for 1 (float32), 2 (INT8) or accelerator (the stand-in)")
	fs.IntVar(&s.turns, "turns", s.turns, "Rows 5 and 6: how often both sides take turns in a round, of a fifth of a window each.")
	s.Options.RegisterFlags(fs)
	fs.StringVar(&s.standins, "stand-ins", s.standins, "Repository with the stand-in.")
	s.RegisterOutput(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := s.Flags.Validate(); err != nil {
		return err
	}
	if err := s.rival.Validate(); err != nil {
		return err
	}
	if s.turns < 1 {
		return config.Wrong("turns", "is %d, must be 1 or more", s.turns)
	}
	return s.Options.Validate()
}

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	return append([]string{
		fmt.Sprintf("Medians of %d rounds, windows of %s. Ratios are the medians of those of neighbouring turns.", s.Rounds, s.Window),
		"The gateway and the three stages are processes of their own, in one configuration for all rows, beside the generator on the same cores.",
	}, s.rival.Notes()...)
}
