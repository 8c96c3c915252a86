package soak

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/bench/rig"
	"triptych/loadtest/bench/rows"
	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows.Flags
	rig.Options
	duration     time.Duration
	load         float64
	swaps, kills int
}

func defaultSettings() settings {
	return settings{
		Flags:    rows.Flags{Rows: []int{row}, Last: row, Rounds: 1, Window: 10 * time.Second, Output: "coverage/soak.json"},
		Options:  rig.Default("coverage/soak.html"),
		duration: 30 * time.Minute, load: 0.7, swaps: 20, kills: 20,
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&s.duration, "duration", s.duration, "How long it takes.")
	fs.DurationVar(&s.Window, "window", s.Window, "How long it is looked for what the chain can do.")
	fs.Float64Var(&s.load, "load", s.load, "How much comes, as a part of that.")
	fs.IntVar(&s.swaps, "swaps", s.swaps, "How many new versions of the classifier there are. An even number, for the same file to serve at both ends.")
	fs.IntVar(&s.kills, "kills", s.kills, "How often a stage is killed, one after the other.")
	s.Options.RegisterFlags(fs)
	s.RegisterOutput(fs)
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if err := s.Flags.Validate(); err != nil {
		return err
	}
	switch {
	case s.duration < time.Second:
		return config.Wrong("duration", "is %s, must be 1s or more", s.duration)
	case s.Window <= 0:
		return config.Wrong("window", "is %s, must be above 0", s.Window)
	case s.load <= 0:
		return config.Wrong("load", "is %g, must be above 0", s.load)
	case s.swaps < 0 || s.swaps%2 != 0:
		return config.Wrong("swaps", "is %d, must be an even number", s.swaps)
	case s.kills < 0:
		return config.Wrong("kills", "is %d, must be 0 or more", s.kills)
	}
	return s.Options.Validate()
}

// The parts of the time. In the first and the last fifth nothing is killed or swapped,
// so that all processes are of about the same age where they are compared.
const (
	quietPart = 5
	minutes   = 30 // what is called a minute is this part of the whole
	earlyPart = 6
	shortest  = time.Second
)

// minute is that of a soak of half an hour, and a little of a shorter one.
func (s *settings) minute() time.Duration { return max(s.duration/minutes, shortest) }

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	return []string{
		fmt.Sprintf("%s at %.0f %% of what the float32 version can do; %d swaps and %d kills between the first and the last fifth, bad images all the time.", s.duration, 100*s.load, s.swaps, s.kills),
		fmt.Sprintf("Memory and goroutines are medians of %s: around %s, and at the end.", s.minute(), s.duration/earlyPart),
	}
}
