package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"triptych/loadtest/measure"
)

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	var b strings.Builder
	s := r.Settings
	fmt.Fprintf(&b, "%s to %s, model %s, %s\n", s.Protocol, s.URL, s.Model, s.dataText())
	if s.Loop == Open {
		fmt.Fprintf(&b, "open loop, %g requests a second, at most %d in flight", s.Rate, s.MaxOutstanding)
	} else {
		fmt.Fprintf(&b, "closed loop, %d in flight", s.Concurrency)
	}
	fmt.Fprintf(&b, "%s, for %.1f s%s%s\n\n", s.deadlineText(), r.Result.Elapsed.Seconds(), r.warmupText(), r.interruptedText())
	res := r.Result
	row(&b, "requests", "%d: %d answered, %d errors%s", res.Requests(), res.Answered, res.Errors, some(", %d abandoned", res.Abandoned))
	row(&b, "throughput", "%.1f/s", res.Throughput())
	row(&b, "latency", "%s", spreadText(res.Latency))
	row(&b, "bytes", "%s sent, %s received", bytesText(res.Sent), bytesText(res.Received))
	row(&b, "generator", "%.2f s of CPU: %.2f cores, %d us a request", r.CPU.Seconds(), r.cores(), r.cpuPerRequest().Microseconds())
	if s.Loop == Open {
		row(&b, "sent late", "%s", spreadText(res.Lateness))
	}
	if len(res.Faults) > 0 {
		b.WriteString("\nerrors\n")
	}
	for _, f := range res.Faults {
		fmt.Fprintf(&b, "%9d  %s: %s%s\n", f.Count, f.Kind, f.Example, knownText(f.Latency))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func row(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%-11s ", name)
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

func (s Settings) dataText() string {
	if s.Tensor != "" {
		return s.Tensor
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
	return fmt.Sprintf(" (known after p50 %s, p99 %s)", ms(s.P50), ms(s.P99))
}

func (r Report) warmupText() string {
	if r.Settings.WarmupSeconds == 0 {
		return ""
	}
	return fmt.Sprintf(" after a warm-up of %g s (%d answered, %d errors)", r.Settings.WarmupSeconds, r.Warmup.Answered, r.Warmup.Errors)
}

func (r Report) interruptedText() string {
	if r.Interrupted {
		return ", ended early"
	}
	return ""
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
		ms(s.Min), ms(s.Mean), ms(s.P50), ms(s.P90), ms(s.P95), ms(s.P99), ms(s.P999), ms(s.Max))
}

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
