package report

import (
	"io"
	"time"

	"triptych/loadtest/stage"
	"triptych/loadtest/threshold"
)

type verdictJSON struct {
	Condition string `json:"condition"`
	Measured  string `json:"measured"`
	Met       bool   `json:"met"`
}

type partJSON struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	figures
}

// loadJSON is what a stage was asked to do.
type loadJSON struct {
	Loop            string  `json:"loop"`
	Concurrency     int     `json:"concurrency,omitempty"`
	Rate            float64 `json:"rate,omitempty"`
	RateTo          float64 `json:"rate_to,omitempty"`
	Arrivals        string  `json:"arrivals,omitempty"`
	MaxOutstanding  int     `json:"max_outstanding,omitempty"`
	Requests        int64   `json:"requests,omitempty"`
	DurationSeconds float64 `json:"duration_s,omitempty"`
	TimeoutSeconds  float64 `json:"timeout_s"`
}

type stageJSON struct {
	Name        string        `json:"name"`
	Started     time.Time     `json:"started"`
	Load        loadJSON      `json:"load"`
	Interrupted bool          `json:"interrupted"`
	Warmup      warmup        `json:"warmup"`
	Conditions  []verdictJSON `json:"conditions"`
	Parts       []partJSON    `json:"parts,omitempty"`
	figures
}

type scenarioJSON struct {
	Scenario    string        `json:"scenario"`
	About       string        `json:"about,omitempty"`
	File        string        `json:"file"`
	Started     time.Time     `json:"started"`
	Requests    []string      `json:"requests"`
	Passed      bool          `json:"passed"`
	Interrupted bool          `json:"interrupted"`
	Stages      []stageJSON   `json:"stages"`
	Whole       figures       `json:"whole"`
	Conditions  []verdictJSON `json:"conditions"`
}

// JSON writes the report as one document.
func (s Scenario) JSON(w io.Writer) error {
	d := scenarioJSON{
		Scenario: s.Name, About: s.About, File: s.File, Started: s.Started.UTC(), Requests: s.Requests,
		Passed: s.Passed(), Interrupted: s.Interrupted, Whole: figuresOf(s.Whole), Conditions: verdictsJSON(s.Verdicts),
		Stages: make([]stageJSON, 0, len(s.Stages)),
	}
	for _, r := range s.Stages {
		d.Stages = append(d.Stages, stageDocument(r))
	}
	return encode(w, d)
}

func verdictsJSON(verdicts []threshold.Verdict) []verdictJSON {
	list := make([]verdictJSON, 0, len(verdicts))
	for _, v := range verdicts {
		list = append(list, verdictJSON{v.Text, v.Measured, v.Met})
	}
	return list
}

func stageDocument(r stage.Result) stageJSON {
	d := stageJSON{
		Name: r.Stage.Name, Started: r.Started.UTC(), Load: loadOf(r.Stage), Interrupted: r.Interrupted,
		Warmup: warmupOf(r.Warmup), Conditions: verdictsJSON(r.Verdicts), figures: figuresOfStage(r),
	}
	for _, p := range r.Parts {
		d.Parts = append(d.Parts, partJSON{p.Name, p.Weight, figuresOf(p.Result)})
	}
	return d
}

func loadOf(s stage.Stage) loadJSON {
	l := loadJSON{Loop: Closed, Concurrency: s.Concurrency, Requests: s.Requests, DurationSeconds: s.Duration.Seconds(), TimeoutSeconds: s.Timeout.Seconds()}
	if !s.Open() {
		return l
	}
	l.Loop, l.Rate, l.MaxOutstanding, l.Arrivals = Open, s.Arrivals.Rate, s.Arrivals.MaxOutstanding, "random"
	if s.Arrivals.Ramp {
		l.RateTo = s.Arrivals.Until
	}
	if s.Arrivals.Even {
		l.Arrivals = "even"
	}
	return l
}
