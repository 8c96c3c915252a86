// Package report tells the result of a load test: as text, as JSON, and while
// it runs. It measures nothing itself.
package report

import (
	"io"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/scrape"
	"triptych/loadtest/stage"
)

// The two kinds of load.
const (
	Closed = "closed"
	Open   = "open"
)

// Settings are what a test was run with. A report without them can't be
// compared with another.
type Settings struct {
	Protocol string `json:"protocol"`
	URL      string `json:"url"`
	Model    string `json:"model"`
	Version  string `json:"version,omitempty"`
	Images   int    `json:"images,omitempty"`
	// Tensor is what is sent in place of images.
	Tensor   string `json:"tensor,omitempty"`
	Priority uint64 `json:"priority,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	// JobItems is how many images a job has, where jobs are sent.
	JobItems int `json:"job_items,omitempty"`
	// Loop is Closed or Open.
	Loop            string  `json:"loop"`
	Concurrency     int     `json:"concurrency,omitempty"`
	Rate            float64 `json:"rate,omitempty"`
	MaxOutstanding  int     `json:"max_outstanding,omitempty"`
	Seed            uint64  `json:"seed,omitempty"`
	Requests        int64   `json:"requests,omitempty"`
	DurationSeconds float64 `json:"duration_s,omitempty"`
	// WarmupSeconds is the longest time where WarmupAuto ends it.
	WarmupSeconds    float64 `json:"warmup_s"`
	WarmupAuto       bool    `json:"warmup_auto,omitempty"`
	TimeoutSeconds   float64 `json:"timeout_s"`
	DeadlineSeconds  float64 `json:"deadline_s,omitempty"`
	Connections      int     `json:"connections,omitempty"`
	Expected         string  `json:"expected,omitempty"`
	ExpectedVersion  string  `json:"expected_version,omitempty"`
	VerifyConsistent bool    `json:"verify_consistent"`
}

// Report is one test.
type Report struct {
	Started  time.Time
	Settings Settings
	// Interrupted is set when the test was ended early by a signal.
	Interrupted bool
	// Warmup is what came before and is not counted in Result.
	Warmup, Result measure.Result
	// Stage is the same as the stage that it was.
	Stage stage.Result
	// Corrected is the latency of a closed loop without coordinated omission, if
	// there is one.
	Corrected measure.Spread
	// Note is a remark on the warm-up; empty for none.
	Note string
	// Usage is what the servers say of the test, for a page.
	Usage scrape.Usage
	// CPU is what the generator itself used while Result was measured.
	CPU time.Duration
}

// Passed tells whether there were answers and no errors.
func (r Report) Passed() bool { return r.Result.Answered > 0 && r.Result.Errors == 0 }

type document struct {
	Started     time.Time `json:"started"`
	Settings    Settings  `json:"settings"`
	Interrupted bool      `json:"interrupted"`
	Warmup      warmup    `json:"warmup"`
	figures
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	return encode(w, document{
		Started: r.Started.UTC(), Settings: r.Settings, Interrupted: r.Interrupted,
		Warmup:  warmup{r.Warmup.Answered, r.Warmup.Errors, r.Note},
		figures: figuresOf(r.Result, r.Corrected, r.CPU, r.Settings.Loop == Open),
	})
}
