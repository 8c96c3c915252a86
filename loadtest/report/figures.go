package report

import (
	"encoding/json"
	"io"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
)

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

// inMillisecondsIfAny is nothing for no distribution.
func inMillisecondsIfAny(s measure.Spread) *milliseconds {
	if s == (measure.Spread{}) {
		return nil
	}
	m := inMilliseconds(s)
	return &m
}

type warmup struct {
	Answered int64  `json:"answered"`
	Errors   int64  `json:"errors"`
	Note     string `json:"note,omitempty"`
}

func warmupOf(w stage.Warmed) warmup { return warmup{w.Result.Answered, w.Result.Errors, w.Note} }

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

// figures are a result as JSON.
type figures struct {
	ElapsedSeconds float64       `json:"elapsed_s"`
	Requests       int64         `json:"requests"`
	Answered       int64         `json:"answered"`
	Items          int64         `json:"items,omitempty"` // of jobs
	Failed         int64         `json:"failed"`
	Abandoned      int64         `json:"abandoned"`
	Throughput     float64       `json:"throughput_per_s"`
	Latency        milliseconds  `json:"latency_ms"`
	Corrected      *milliseconds `json:"latency_corrected_ms,omitempty"` // of a closed loop
	Errors         []faults      `json:"errors"`
	BytesSent      int64         `json:"bytes_sent"`
	BytesReceived  int64         `json:"bytes_received"`
	Generator      *generator    `json:"generator,omitempty"`
}

// figuresOfStage are those of a stage's measurement, and of its generator.
func figuresOfStage(s stage.Result) figures {
	f := figuresOf(s.Result)
	f.Corrected = inMillisecondsIfAny(s.Corrected)
	f.Generator = &generator{CPUSeconds: s.CPU.Seconds(), Cores: cores(s), CPUPerRequestUS: float64(cpuPerRequest(s)) / float64(time.Microsecond)}
	if s.Stage.Open() {
		late := inMilliseconds(s.Result.Lateness)
		f.Generator.Late = &late
	}
	return f
}

// figuresOf are those of a result alone.
func figuresOf(r measure.Result) figures {
	f := figures{
		ElapsedSeconds: r.Elapsed.Seconds(),
		Requests:       r.Requests(), Answered: r.Answered, Failed: r.Errors, Abandoned: r.Abandoned,
		Throughput: r.Throughput(), Latency: inMilliseconds(r.Latency),
		Errors:    make([]faults, 0, len(r.Faults)),
		BytesSent: r.Sent, BytesReceived: r.Received,
	}
	if r.Items > r.Answered {
		f.Items = r.Items
	}
	for _, fault := range r.Faults {
		f.Errors = append(f.Errors, faults{fault.Kind, fault.Count, fault.Example, inMilliseconds(fault.Latency)})
	}
	return f
}

// cores is how many processors the generator kept busy.
func cores(s stage.Result) float64 {
	if s.Result.Elapsed <= 0 {
		return 0
	}
	return s.CPU.Seconds() / s.Result.Elapsed.Seconds()
}

// cpuPerRequest is the generator's own processor time for one request.
func cpuPerRequest(s stage.Result) time.Duration {
	if n := s.Result.Requests(); n > 0 {
		return s.CPU / time.Duration(n)
	}
	return 0
}

// encode writes a document for people and programs.
func encode(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
