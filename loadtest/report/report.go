// Package report tells the result of a load test: as text, as JSON, and while
// it runs. It measures nothing itself.
package report

import (
	"io"
	"time"

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
	Settings Settings
	// Stage is the one stage of the test.
	Stage stage.Result
	// ErrorsExcused is set when the command line excuses requests that fail.
	ErrorsExcused bool
	// Usage is what the servers say of the test, for a page.
	Usage scrape.Usage
}

// Passed tells whether there were answers and no errors, or, where those are excused,
// whether there was either.
func (r Report) Passed() bool {
	got := r.Stage.Result
	if r.ErrorsExcused {
		return got.Answered+got.Errors > 0
	}
	return got.Answered > 0 && got.Errors == 0
}

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
		Started: r.Stage.Started.UTC(), Settings: r.Settings, Interrupted: r.Stage.Interrupted,
		Warmup: warmupOf(r.Stage.Warmup), figures: figuresOfStage(r.Stage),
	})
}
