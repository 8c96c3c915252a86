// Package report tells the result of a load test: as text, as JSON, and while
// it runs. It measures nothing itself.
package report

import (
	"encoding/json"
	"io"
	"time"

	"triptych/loadtest/measure"
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
	Images   int    `json:"images,omitempty"`
	// Tensor is what is sent in place of images.
	Tensor   string `json:"tensor,omitempty"`
	Priority uint64 `json:"priority,omitempty"`
	// Loop is Closed or Open.
	Loop             string  `json:"loop"`
	Concurrency      int     `json:"concurrency,omitempty"`
	Rate             float64 `json:"rate,omitempty"`
	MaxOutstanding   int     `json:"max_outstanding,omitempty"`
	Seed             uint64  `json:"seed,omitempty"`
	Requests         int64   `json:"requests,omitempty"`
	DurationSeconds  float64 `json:"duration_s,omitempty"`
	WarmupSeconds    float64 `json:"warmup_s"`
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
	// CPU is what the generator itself used while Result was measured.
	CPU time.Duration
}

// cores is how many processors the generator kept busy.
func (r Report) cores() float64 {
	if r.Result.Elapsed <= 0 {
		return 0
	}
	return r.CPU.Seconds() / r.Result.Elapsed.Seconds()
}

// cpuPerRequest is the generator's own processor time for one request.
func (r Report) cpuPerRequest() time.Duration {
	if n := r.Result.Requests(); n > 0 {
		return r.CPU / time.Duration(n)
	}
	return 0
}

// milliseconds is a Spread for JSON.
type milliseconds struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

func inMilliseconds(s measure.Spread) milliseconds {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return milliseconds{ms(s.Min), ms(s.Mean), ms(s.P50), ms(s.P90), ms(s.P95), ms(s.P99), ms(s.P999), ms(s.Max)}
}

type warmup struct {
	Answered int64 `json:"answered"`
	Errors   int64 `json:"errors"`
}

type generator struct {
	CPUSeconds      float64       `json:"cpu_s"`
	Cores           float64       `json:"cores"`
	CPUPerRequestUS float64       `json:"cpu_us_per_request"`
	Late            *milliseconds `json:"late_ms,omitempty"` // of an open loop
}

type faults struct {
	Kind    string       `json:"kind"`
	Count   int64        `json:"count"`
	Example string       `json:"example"`
	Latency milliseconds `json:"latency_ms"`
}

type document struct {
	Started        time.Time    `json:"started"`
	Settings       Settings     `json:"settings"`
	Interrupted    bool         `json:"interrupted"`
	Warmup         warmup       `json:"warmup"`
	ElapsedSeconds float64      `json:"elapsed_s"`
	Requests       int64        `json:"requests"`
	Answered       int64        `json:"answered"`
	Failed         int64        `json:"failed"`
	Abandoned      int64        `json:"abandoned"`
	Throughput     float64      `json:"throughput_per_s"`
	Latency        milliseconds `json:"latency_ms"`
	Errors         []faults     `json:"errors"`
	BytesSent      int64        `json:"bytes_sent"`
	BytesReceived  int64        `json:"bytes_received"`
	Generator      generator    `json:"generator"`
}

// JSON writes the report as one document.
func (r Report) JSON(w io.Writer) error {
	d := document{
		Started: r.Started.UTC(), Settings: r.Settings, Interrupted: r.Interrupted,
		Warmup:         warmup{r.Warmup.Answered, r.Warmup.Errors},
		ElapsedSeconds: r.Result.Elapsed.Seconds(),
		Requests:       r.Result.Requests(), Answered: r.Result.Answered, Failed: r.Result.Errors, Abandoned: r.Result.Abandoned,
		Throughput: r.Result.Throughput(), Latency: inMilliseconds(r.Result.Latency), Errors: make([]faults, 0, len(r.Result.Faults)),
		BytesSent: r.Result.Sent, BytesReceived: r.Result.Received,
		Generator: generator{CPUSeconds: r.CPU.Seconds(), Cores: r.cores(), CPUPerRequestUS: float64(r.cpuPerRequest()) / float64(time.Microsecond)},
	}
	for _, f := range r.Result.Faults {
		d.Errors = append(d.Errors, faults{f.Kind, f.Count, f.Example, inMilliseconds(f.Latency)})
	}
	if r.Settings.Loop == Open {
		late := inMilliseconds(r.Result.Lateness)
		d.Generator.Late = &late
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}
