package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// settings are the flags.
type settings struct {
	rows     []int
	rounds   int
	window   time.Duration
	loads    []int
	rival    string
	address  string
	model    string
	analyzer string

	predictor   string
	standins    string
	classifiers string
	output      string
	strict      bool
}

// allRows are those of the table in docs/benchmarks.md.
const allRows = 6

// delayMark is replaced in the rival's command.
const delayMark = "{delay}"

// defaultSettings take the rival from the environment, for its command is long.
func defaultSettings(getenv func(string) string) settings {
	return settings{
		rows: []int{1, 2, 3, 4, 5, 6}, rounds: 3, window: 10 * time.Second, loads: []int{5, 20, 35, 50, 65, 80, 95},
		rival: getenv("RIVAL"), address: getenv("RIVAL_GRPC"), model: getenv("RIVAL_MODEL"), analyzer: getenv("PERF_ANALYZER"),
		predictor: "bin/predictor", standins: "tools/bench/models", classifiers: "models", output: "coverage/bench-predictor.json",
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntSliceVar(&s.rows, "rows", s.rows, "What is measured: rows of the table in docs/benchmarks.md.")
	fs.IntVar(&s.rounds, "rounds", s.rounds, "How often each side is measured, in turn. The medians count.")
	fs.DurationVar(&s.window, "window", s.window, "How long one measurement takes.")
	fs.IntSliceVar(&s.loads, "loads", s.loads, "Row 2: loads in percent of the capacity.")
	fs.StringVar(&s.rival, "rival", s.rival, "Command of the shell that runs a rival's stand-in in the foreground, with "+delayMark+" for its greatest queue delay in microseconds ($RIVAL).")
	fs.StringVar(&s.address, "rival-grpc", s.address, "The rival's gRPC address ($RIVAL_GRPC).")
	fs.StringVar(&s.model, "rival-model", s.model, "The rival's name for the stand-in ($RIVAL_MODEL).")
	fs.StringVar(&s.analyzer, "perf-analyzer", s.analyzer, "Command of the shell that is perf_analyzer, for row 1; without it our own closed loop is used for both sides ($PERF_ANALYZER).")
	fs.StringVar(&s.predictor, "predictor", s.predictor, "Our binary.")
	fs.StringVar(&s.standins, "stand-ins", s.standins, "Repository with the stand-ins.")
	fs.StringVar(&s.classifiers, "classifiers", s.classifiers, "Repository with efficientnet_lite0.")
	fs.StringVar(&s.output, "output", s.output, "File for all figures as JSON. The servers' logs lie beside it.")
	fs.BoolVar(&s.strict, "strict", s.strict, "End with status 1 when a bar is missed.")
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	for _, row := range s.rows {
		if row < 1 || row > allRows {
			return config.Wrong("rows", "has %d, must be from 1 to %d", row, allRows)
		}
	}
	for _, load := range s.loads {
		if load < 1 || load > 200 {
			return config.Wrong("loads", "has %d, must be from 1 to 200", load)
		}
	}
	switch {
	case s.rounds < 1:
		return config.Wrong("rounds", "is %d, must be 1 or more", s.rounds)
	case s.window < time.Second:
		return config.Wrong("window", "is %s, must be 1s or more", s.window)
	case s.rival != "" && (s.address == "" || s.model == ""):
		return config.Wrong("rival", "needs --rival-grpc and --rival-model")
	default:
		return nil
	}
}

func (s *settings) has(row int) bool { return slices.Contains(s.rows, row) }

// notes tell the reader of the figures what they were taken with.
func (s *settings) notes() []string {
	notes := []string{fmt.Sprintf("Medians of %d, each of %s.", s.rounds, s.window)}
	if s.rival == "" {
		notes = append(notes, "No rival was given ($RIVAL), so only our own side was measured.")
	}
	if s.analyzer == "" && s.has(1) {
		notes = append(notes, "No perf_analyzer was given ($PERF_ANALYZER), so row 1 was driven by our own closed loop.")
	}
	return notes
}
