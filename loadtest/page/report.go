// Package page writes what load tests found as one HTML page that needs nothing
// else: charts are inlined, nothing is fetched, no script runs. It measures
// nothing itself.
package page

import (
	"time"

	"triptych/loadtest/measure"
)

// Report is what a page tells. All but Title may be empty; what is empty is left
// out. Texts may come from anywhere, a hostile server too.
type Report struct {
	Title string
	When  time.Time
	// Outcome is the page's verdict; nil to count the bars that were met.
	Outcome *Outcome
	// Facts are what one must know to repeat the test: machine, versions, targets.
	Facts []Fact
	// Command is the command line.
	Command string
	// Notes are remarks of a sentence each, such as that a test was interrupted.
	Notes []string
	// Tables are what a benchmark sums up. Those with bars come first, the others
	// before the runs.
	Tables      []Table
	Comparisons []Comparison
	// ComparisonNote is a footnote to them.
	ComparisonNote string
	// Thresholds are those of the whole; a run has its own.
	Thresholds []Threshold
	Runs       []Run
}

// Outcome is what came of it all in a sentence.
type Outcome struct {
	Verdict Verdict
	Text    string
}

// Fact is something known, such as {"cores", "2"}.
type Fact struct{ Name, Value string }

// Run is one test of one target.
type Run struct {
	Name string
	// Target is what was asked, such as "gRPC 127.0.0.1:8001, model classify".
	Target string
	// Load is how, in words, such as "closed loop, 16 callers".
	Load string
	// Result sums up the run without its warm-up.
	Result measure.Result
	// Stages are the parts of the run in their order, for a run of several.
	Stages      []Stage
	Timeline    []measure.Interval
	Percentiles []measure.Percentile
	Thresholds  []Threshold
	// Steps are the models that took part, each with its share of the time.
	Steps    []Step
	Batches  []Batches
	Services []Service
	Notes    []string
}

// Stage is a part of a run with a load of its own.
type Stage struct {
	Name, Load string
	// Start is on the run's timeline.
	Start, Duration time.Duration
	// Warmup is set when the stage is not part of the run's result.
	Warmup bool
	Result measure.Result
}

// Threshold is a condition and whether it was met.
type Threshold struct {
	// Where is the stage, "" for the whole.
	Where string
	// Condition is as it was written, such as "p99 < 200ms".
	Condition string
	// Measured is the value that was compared, with its unit.
	Measured string
	Met      bool
}

// Step is what one model did during a run, by its own statistics.
type Step struct {
	Model, Version string
	// Requests were answered well, Failed were not, CacheHits needed no run.
	// Inferences are items that were computed, Runs the executions for them: fewer
	// where items went in batches.
	Requests, Failed, CacheHits, Inferences, Runs int64
	// Ensemble is set for a model that is made of others. Its time is theirs, and
	// what lies between them.
	Ensemble bool
	// Admitted are requests for the model that a gateway let in, of which Waited is
	// the mean time before; 0 where no gateway told.
	Admitted int64
	Waited   time.Duration
	// Queue and Compute are means over the requests that were computed, Total over
	// all good ones.
	Queue, Compute, Total time.Duration
}

// Batches is how often a model ran with which number of items.
type Batches struct {
	Model, Version string
	Sizes          []BatchSize
}

// BatchSize is how often batches of a size were run.
type BatchSize struct{ Size, Count int64 }

// Service is what a process used during a run.
type Service struct {
	Name string
	// CPU is processor time.
	CPU time.Duration
	// MemoryBefore and MemoryAfter are resident bytes.
	MemoryBefore, MemoryAfter int64
}

// Comparison is the ratio of a measure between two sides, with the interval that
// holds it at the given confidence.
type Comparison struct {
	// Measure is what was compared, such as "throughput" or "p99".
	Measure string
	// A and B are the sides' names. The ratio is B's value by A's.
	A, B string
	// ValueA and ValueB are the sides' medians, with their units.
	ValueA, ValueB string
	Ratio          float64
	// Low and High are the ends of the interval; both 0 when there is none.
	Low, High float64
	// LessIsBetter is set for latencies.
	LessIsBetter bool
	// Bar is a ratio that was to be reached; 0 for none.
	Bar float64
	// Verdict is in words, such as "no difference seen".
	Verdict string
}

// Table is rows of text.
type Table struct {
	Title, Note string
	Header      []string
	Rows        []Row
	// Bars is set when the rows' verdicts are to count in the page's own.
	Bars bool
}

// Verdict says how something went, for its colour and mark.
type Verdict int

// The verdicts. None has no mark.
const (
	None Verdict = iota
	Good
	Bad
	Unsure
)

// Row is a row of a table.
type Row struct {
	Cells   []string
	Verdict Verdict
}
