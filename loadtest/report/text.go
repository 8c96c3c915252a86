package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/stage"
)

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s%s, for %.1f s%s%s\n\n", r.Settings.targetText(), r.Stage.Stage.Describe(), r.Settings.deadlineText(),
		r.Stage.Result.Elapsed.Seconds(), r.warmupText(), early(r.Stage.Interrupted))
	resultText(&b, r.Stage)
	faultsText(&b, r.Stage.Result.Faults)
	_, err := io.WriteString(w, b.String())
	return err
}

// resultText is a stage's result in some lines.
func resultText(b *strings.Builder, s stage.Result) {
	r, c := s.Result, s.Corrected
	row(b, "requests", "%d: %d answered, %d errors%s", r.Requests(), r.Answered, r.Errors, some(", %d abandoned", r.Abandoned))
	row(b, "throughput", "%.1f/s%s", r.Throughput(), itemsText(r))
	row(b, "latency", "%s", spreadText(r.Latency))
	if c != (measure.Spread{}) {
		row(b, "corrected", "p50 %s  p99 %s  p99.9 %s, had callers kept their rhythm while answers stalled", p50(c), p99(c), p999(c))
	}
	row(b, "bytes", "%s sent, %s received", bytesText(r.Sent), bytesText(r.Received))
	row(b, "generator", "%.2f s of CPU: %.2f cores, %d us a request", s.CPU.Seconds(), cores(s), cpuPerRequest(s).Microseconds())
	if s.Stage.Open() {
		row(b, "sent late", "%s", spreadText(r.Lateness))
	}
	if s.Warmup.Note != "" {
		row(b, "warm-up", "%s", s.Warmup.Note)
	}
}

// itemsText is how many items a second there were, of jobs.
func itemsText(r measure.Result) string {
	if r.Items <= r.Answered || r.Elapsed <= 0 {
		return ""
	}
	return fmt.Sprintf(", %d items: %.1f/s", r.Items, measure.PerSecond(r.Items, r.Elapsed))
}

func faultsText(b *strings.Builder, faults []measure.FaultCount) {
	if len(faults) > 0 {
		b.WriteString("\nerrors\n")
	}
	for _, f := range faults {
		fmt.Fprintf(b, "%9d  %s: %s%s\n", f.Count, f.Kind, f.Example, knownText(f.Latency))
	}
}

func row(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%-11s ", name)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

// targetText says what is sent where.
func (s Settings) targetText() string {
	return fmt.Sprintf("%s to %s, model %s, %s", s.Protocol, s.URL, s.Model, s.dataText())
}

func (s Settings) dataText() string {
	if s.Tensor != "" {
		return s.Tensor
	}
	if s.JobItems > 0 {
		return fmt.Sprintf("jobs of %d out of %d images", s.JobItems, s.Images)
	}
	return fmt.Sprintf("%d images", s.Images)
}

func (s Settings) deadlineText() string {
	if s.DeadlineSeconds == 0 {
		return ""
	}
	return fmt.Sprintf(", deadline %g ms", s.DeadlineSeconds*1000)
}

// knownText is how long the requests took to learn of an error.
func knownText(s measure.Spread) string {
	if s == (measure.Spread{}) {
		return ""
	}
	return " (known after " + LatencyText(s) + ")"
}

// LatencyText is the median and the 99th percentile in a few words, each "-" where
// no value lies behind it.
func LatencyText(s measure.Spread) string { return fmt.Sprintf("p50 %s, p99 %s", p50(s), p99(s)) }

func (r Report) warmupText() string {
	if r.Settings.WarmupSeconds == 0 {
		return ""
	}
	w, length := r.Stage.Warmup.Result, fmt.Sprintf("%g s", r.Settings.WarmupSeconds)
	if r.Settings.WarmupAuto {
		length = fmt.Sprintf("%.1f s", w.Elapsed.Seconds())
	}
	return fmt.Sprintf(" after a warm-up of %s (%d answered, %d errors)", length, w.Answered, w.Errors)
}

// some is the text for a count that is not 0.
func some(format string, n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func spreadText(s measure.Spread) string {
	if s == (measure.Spread{}) {
		return "none"
	}
	return fmt.Sprintf("min %s  mean %s  p50 %s  p90 %s  p95 %s  p99 %s  p99.9 %s  max %s",
		ms(s.Min), ms(s.Mean), p50(s), past(s, 90), past(s, 95), p99(s), p999(s), ms(s.Max))
}

// past is a percentile of a spread, "-" where no value lies behind it.
func past(s measure.Spread, percent float64) string {
	if value, tells := s.At(percent); tells {
		return ms(value)
	}
	return "-"
}

func p50(s measure.Spread) string  { return past(s, 50) }
func p99(s measure.Spread) string  { return past(s, 99) }
func p999(s measure.Spread) string { return past(s, 99.9) }

// ms is a time with three significant digits or so.
func ms(d time.Duration) string {
	v := float64(d.Microseconds()) / 1000
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%.1fs", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0fms", v)
	case v >= 10:
		return fmt.Sprintf("%.1fms", v)
	default:
		return fmt.Sprintf("%.2fms", v)
	}
}

func bytesText(n int64) string {
	switch v := float64(n); {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.1f MB", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f kB", v/1e3)
	default:
		return fmt.Sprintf("%d B", n)
	}
}
