// Package scrape reads what servers know of themselves before and after a run:
// the statistics of the Open Inference Protocol, by gRPC or REST, and Prometheus
// metrics. The difference says where a request's time went. It never fails a
// run: what a server does not tell is left out, and a note says so.
package scrape

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"triptych/loadtest/target"
	"triptych/proto/inference"
	"triptych/shared/config"
	"triptych/shared/failure"
)

// patience bounds one question to a server.
const patience = 5 * time.Second

// maxAnswer bounds one answer in bytes.
const maxAnswer = 16 << 20

// Probe asks a server and the processes behind it. Safe for concurrent use.
type Probe struct {
	server  server
	metrics []endpoint
	client  *client
}

// server tells its statistics and how its models are configured.
type server interface {
	statistics(ctx context.Context) ([]*inference.ModelStatistics, error)
	// ensemble gives the models that another is made of, in their order; none for
	// a model that is no ensemble.
	ensemble(ctx context.Context, model, version string) ([]string, error)
	close() error
}

// endpoint is a process's metrics.
type endpoint struct {
	name, url string
	// guessed is set when nobody asked for it: that it is not there is no news.
	guessed bool
}

// New makes a probe for the server that o names; it sends nothing. Metrics are
// URLs, or NAME=URL. Without any, those of the default port of Triptych's gateway
// and of Triton are tried, if the server's port is a default one too.
func New(o target.Options, metrics []string) (*Probe, error) {
	p := &Probe{client: newClient()}
	for _, text := range metrics {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		p.metrics = append(p.metrics, e)
	}
	if e, ok := guess(target.Address(o)); ok && len(metrics) == 0 {
		p.metrics = []endpoint{e}
	}
	if o.Protocol != target.GRPC {
		p.server = &restServer{base: target.Address(o), client: p.client}
		return p, nil
	}
	var err error
	p.server, err = newGRPC(target.Address(o))
	return p, err
}

// Close ends the connections.
func (p *Probe) Close() error {
	p.client.close()
	return p.server.close()
}

// parseEndpoint reads NAME=URL or URL.
func parseEndpoint(text string) (endpoint, error) {
	name, address, named := strings.Cut(text, "=")
	if !named || strings.Contains(name, "/") {
		name, address = "", text
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return endpoint{}, failure.New(failure.Invalid, "metrics are at %q, must be like http://HOST:PORT/metrics or NAME=http://HOST:PORT/metrics", text)
	}
	if u.Path == "" {
		u.Path = "/metrics"
	}
	if name == "" {
		name = u.Host
	}
	return endpoint{name: name, url: u.String()}, nil
}

// AdminPort is the port at which New looks for metrics that nobody has named.
func AdminPort() string { return portOf(config.AdminAddress) }

// guess is where the metrics of a server at a default port would be.
func guess(address string) (endpoint, bool) {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil || (port != portOf(config.HTTPAddress) && port != portOf(config.GRPCAddress)) {
		return endpoint{}, false
	}
	at := net.JoinHostPort(host, AdminPort())
	return endpoint{name: at, url: "http://" + at + "/metrics", guessed: true}, true
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // the defaults are well formed
	return port
}

// Snapshot is what all have told at one moment.
type Snapshot struct {
	models    map[modelKey]*inference.ModelStatistics
	ensembles map[string][]string // the steps of those models that have been asked
	processes []process
	notes     []string
}

type modelKey struct{ name, version string }

// Read asks all, at once. What can't be had is in the snapshot's notes.
func (p *Probe) Read(ctx context.Context) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &Snapshot{models: map[modelKey]*inference.ModelStatistics{}, ensembles: map[string][]string{}}
	s.processes = make([]process, len(p.metrics))
	var asking sync.WaitGroup
	for i, e := range p.metrics {
		asking.Go(func() { s.processes[i] = p.client.process(ctx, e) })
	}
	p.readModels(ctx, s)
	asking.Wait()
	for _, one := range s.processes {
		if one.note != "" {
			s.notes = append(s.notes, one.note)
		}
	}
	return s
}

// maxModels bounds how many models are asked whether they are ensembles.
const maxModels = 64

func (p *Probe) readModels(ctx context.Context, s *Snapshot) {
	models, err := p.server.statistics(ctx)
	if err != nil {
		s.notes = append(s.notes, "The server tells no statistics of its models ("+failure.Message(err)+"), so that the time in each is not known.")
		return
	}
	for _, m := range models {
		s.models[modelKey{m.GetName(), m.GetVersion()}] = m
		_, known := s.ensembles[m.GetName()]
		if known || m.GetInferenceStats().GetSuccess().GetCount() == 0 || len(s.ensembles) == maxModels {
			continue
		}
		// A server without this extension has no ensembles that one could tell.
		s.ensembles[m.GetName()], _ = p.server.ensemble(ctx, m.GetName(), m.GetVersion())
	}
}
