package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"triptych/loadtest/report"
	"triptych/loadtest/scrape"
	"triptych/loadtest/target"
	"triptych/loadtest/workload"
)

// probes ask the servers of a test what they did meanwhile.
type probes struct {
	list   []*scrape.Probe
	before []*scrape.Snapshot
}

// newProbes makes one for each host that requests go to: its ports are those of one
// server. There are none where nobody will read what they find.
func newProbes(specs []workload.Spec, o outputFlags) (*probes, error) {
	p := &probes{}
	if !report.IsPage(o.report) {
		return p, nil
	}
	metrics, seen := o.metrics, map[string]bool{}
	for _, spec := range specs {
		host := hostOf(target.Address(spec.Target))
		if seen[host] {
			continue
		}
		seen[host] = true
		probe, err := scrape.New(spec.Target, metrics)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.list, metrics = append(p.list, probe), nil // the processes are asked once
	}
	return p, nil
}

func hostOf(address string) string {
	if !strings.Contains(address, "://") {
		address = "grpc://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

// begin asks for the first time; a second call changes nothing.
func (p *probes) begin(ctx context.Context) {
	if p.before == nil {
		p.before = p.read(ctx)
	}
}

func (p *probes) read(ctx context.Context) []*scrape.Snapshot {
	snapshots := make([]*scrape.Snapshot, len(p.list))
	for i, probe := range p.list {
		snapshots[i] = probe.Read(context.WithoutCancel(ctx)) // a test that is ended early is told too
	}
	return snapshots
}

// end asks again, and gives what happened since the beginning.
func (p *probes) end(ctx context.Context) scrape.Usage {
	var all scrape.Usage
	if len(p.before) == 0 {
		return all
	}
	for i, after := range p.read(ctx) {
		u := after.Since(p.before[i])
		all.Steps, all.Batches = append(all.Steps, u.Steps...), append(all.Batches, u.Batches...)
		all.Services, all.Notes = append(all.Services, u.Services...), append(all.Notes, u.Notes...)
	}
	return all
}

func (p *probes) close() error {
	errs := make([]error, 0, len(p.list))
	for _, probe := range p.list {
		errs = append(errs, probe.Close())
	}
	return errors.Join(errs...)
}
