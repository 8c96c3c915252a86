// Package admission bounds what is in flight at the head of the system, where an
// image is still small: one room for the requests of all doors. Nobody waits for
// it: what has no room is Busy, at once, with a hint when to come back. Behind the
// room each model has a gate (package gate), before which a few may wait.
package admission

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triptych/gateway/admission/gate"
	"triptych/proto/inference"
	"triptych/shared/failure"
)

// Door is where a request came in.
type Door uint8

// The doors.
const (
	HTTP Door = iota
	GRPC
)

// names are the doors' labels in metrics.
var names = [...]string{HTTP: "http", GRPC: "grpc"}

// Admission is the room. Safe for concurrent use.
type Admission struct {
	cfg   Config
	gates *gate.Gates

	mu    sync.Mutex // guards what follows
	doors [len(names)]usage
	// held is the mean time, lately, for which a request held its room.
	held time.Duration
}

// usage is what has come through one door and is in flight, and what was refused
// there, by what had no room.
type usage struct {
	requests                      int
	bytes                         int64
	refusedRequests, refusedBytes uint64
}

// New makes an empty room and registers its metrics.
func New(cfg Config, registry prometheus.Registerer) (*Admission, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	gates, err := gate.New(cfg.Models, registry)
	if err != nil {
		return nil, err
	}
	a := &Admission{cfg: cfg, gates: gates}
	if err := registry.Register(newCollector(a)); err != nil {
		return nil, failure.Wrap(err, failure.Internal, "register the metrics of the admission")
	}
	return a, nil
}

// Grant is the room of one request. It must be released.
type Grant struct {
	admission *Admission
	door      Door
	since     time.Time
	bytes     int64
	once      sync.Once
}

// Admit takes room for a request of so many bytes.
func (a *Admission) Admit(door Door, bytes int64) (*Grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if requests := a.total().requests; requests >= a.cfg.MaxRequests {
		a.doors[door].refusedRequests++
		return nil, a.busy("%d requests are in flight, as many as are admitted", requests)
	}
	if err := a.take(door, 0, bytes); err != nil {
		return nil, err
	}
	a.doors[door].requests++
	return &Grant{admission: a, door: door, since: time.Now(), bytes: bytes}, nil
}

// Models is next behind the gates of its models, for a door that takes room by
// itself.
func (a *Admission) Models(next inference.GRPCInferenceServiceServer) inference.GRPCInferenceServiceServer {
	return a.gates.Server(next)
}

// Check tells whether a request to a model would be refused now, before anything of
// it is read. It is nil for a model of which nothing is known.
func (a *Admission) Check(ctx context.Context, model string) error { return a.gates.Check(ctx, model) }

// take adds bytes to a request that has some. Call it with the lock.
func (a *Admission) take(door Door, has, bytes int64) error {
	if bytes > a.cfg.MaxBytes-has {
		return failure.New(failure.TooLarge, "the request has more than %d bytes, which is all that is admitted at a time", a.cfg.MaxBytes)
	}
	if there := a.total().bytes; bytes > a.cfg.MaxBytes-there {
		a.doors[door].refusedBytes++
		return a.busy("%d bytes are in flight, there is no room for %d more", there, bytes)
	}
	a.doors[door].bytes += bytes
	return nil
}

func (a *Admission) total() (t usage) {
	for _, d := range a.doors {
		t.requests += d.requests
		t.bytes += d.bytes
	}
	return t
}

// busy hints at the time that requests hold their room: by then what is in the
// way now has gone.
func (a *Admission) busy(format string, args ...any) error {
	f := failure.New(failure.Busy, format, args...)
	f.RetryAfter = min(max(a.held, time.Second), 30*time.Second)
	return f
}

// Grow takes room for more bytes of the request. When there is none the grant
// stays as it is.
func (g *Grant) Grow(bytes int64) error {
	a := g.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.take(g.door, g.bytes, bytes); err != nil {
		return err
	}
	g.bytes += bytes
	return nil
}

// Shrink gives back what the request turned out not to need: it has so many bytes.
func (g *Grant) Shrink(bytes int64) {
	a := g.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes < g.bytes {
		a.doors[g.door].bytes -= g.bytes - bytes
		g.bytes = bytes
	}
}

// Release gives the room back. Safe to call twice; nothing else may follow it.
func (g *Grant) Release() {
	g.once.Do(func() {
		a := g.admission
		a.mu.Lock()
		defer a.mu.Unlock()
		a.doors[g.door].requests--
		a.doors[g.door].bytes -= g.bytes
		a.held += (time.Since(g.since) - a.held) / 8
	})
}
