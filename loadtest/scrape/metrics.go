package scrape

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"triptych/shared/failure"
)

// The metrics of a process that every Prometheus client library has.
const (
	cpuSeconds     = "process_cpu_seconds_total"
	residentMemory = "process_resident_memory_bytes"
	startTime      = "process_start_time_seconds"
)

// process is what one has used so far.
type process struct {
	name  string
	known bool
	note  string // why it is not known
	cpu   time.Duration
	// memory is resident bytes, started in seconds since 1970; 0 when not told.
	memory  int64
	started float64
	// waits are those at a gateway's admission, by model.
	waits map[string]span
}

// client asks by HTTP. It follows no redirects and uses no proxy.
type client struct{ transport *http.Transport }

func newClient() *client {
	return &client{&http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: patience}}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

func (c *client) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "%q is no URL", address)
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "%s does not answer", address)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or the connection is lost anyway
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "%s broke off", address)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, failure.New(failure.Unsupported, "%s answers %s", address, resp.Status)
	}
	return body, nil
}

// process reads the metrics of a process.
func (c *client) process(ctx context.Context, e endpoint) process {
	p := process{name: e.name}
	body, err := c.get(ctx, e.url)
	if err != nil {
		if !e.guessed {
			p.note = "No metrics of " + e.name + ": " + failure.Message(err) + "."
		}
		return p
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		p.note = "The metrics of " + e.name + " can't be read: " + err.Error() + "."
		return p
	}
	p.waits = waitsOf(families[admissionWait])
	p.started, _ = value(families[startTime])
	cpu, hasCPU := value(families[cpuSeconds])
	memory, hasMemory := value(families[residentMemory])
	if !hasCPU && !hasMemory {
		if len(p.waits) > 0 {
			return p
		}
		p.note = "The metrics of " + e.name + " say nothing of its processor time and memory."
		return p
	}
	p.known, p.cpu, p.memory = true, time.Duration(cpu*float64(time.Second)), int64(memory)
	return p
}

// value is that of a family's one metric.
func value(family *dto.MetricFamily) (v float64, ok bool) {
	if len(family.GetMetric()) != 1 {
		return 0, false
	}
	switch m := family.GetMetric()[0]; {
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	default:
		return m.GetUntyped().GetValue(), m.Untyped != nil
	}
}
