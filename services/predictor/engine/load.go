package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// What becomes of a model when a GPU that was asked for does not work.
const (
	// FallbackError fails the load.
	FallbackError = "error"
	// FallbackCPU leaves the GPU out, or takes the CPU when none is left, and
	// says so.
	FallbackCPU = "cpu"
)

// Settings are what the service, not the model, says about sessions.
type Settings struct {
	// Device is where models run that do not say it themselves.
	Device Device
	// GPUs is how many there are; 0 when nobody knows.
	GPUs int
	// Fallback is FallbackError, the default, or FallbackCPU. A model's
	// device_fallback goes before it.
	Fallback string
	// IntraOpThreads is the number of threads of one operator when the model
	// does not say; 0 shares the cores.
	IntraOpThreads int
	// WideBytes is the size of the largest model that gets a second session on the
	// CPU, on all cores, for runs that are alone. A model's wide_session goes before
	// it.
	WideBytes int64
	// Logger gets what was chosen.
	Logger *slog.Logger

	quiet time.Duration // instead of ebbAfter
}

// loader is what the sessions of a version have in common.
type loader struct {
	library  *Library
	cfg      *inference.ModelConfig
	file     string
	contract *contract
	tuning   tuning
	// bytes is the size of the model with its weights, wideBytes that of the largest
	// with a wide session.
	bytes, wideBytes int64
	quiet            time.Duration
	logger           *slog.Logger
}

// Load makes a session of the model file in directory, checks it against its
// configuration and runs it once on each device. Every error says what is wrong
// with which.
func (l *Library) Load(ctx context.Context, cfg *inference.ModelConfig, directory string, settings Settings) (*Session, error) {
	where, err := place(cfg, settings.Device, settings.GPUs)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, cfg, directory, settings, where)
}

func (l *Library) load(ctx context.Context, cfg *inference.ModelConfig, directory string, settings Settings, where plan) (*Session, error) {
	load, err := l.prepare(cfg, directory, settings)
	if err != nil {
		return nil, err
	}
	s := &Session{model: cfg.GetName(), contract: load.contract, asked: where.asked, logger: load.logger, traffic: l.traffic, usage: l.usage}
	if err := s.open(ctx, load, where); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.log(load.tuning.ignored)
	if cfg.GetMaxBatchSize() > 1 && quantizesDynamically(load.file) {
		s.logger.Warn("model quantizes dynamically: what shares a batch changes each other's results")
	}
	return s, nil
}

// prepare does what needs no device.
func (l *Library) prepare(cfg *inference.ModelConfig, directory string, settings Settings) (*loader, error) {
	load := &loader{library: l, cfg: cfg, wideBytes: settings.WideBytes, quiet: ebbAfter, logger: settings.Logger.With("model", cfg.GetName())}
	if settings.quiet > 0 {
		load.quiet = settings.quiet
	}
	var err error
	if load.file, err = modelFile(cfg, directory); err != nil {
		return nil, err
	}
	load.bytes = weigh(load.file)
	g, err := readGraph(cfg, load.file)
	if err != nil {
		return nil, err
	}
	if load.contract, err = agree(cfg, g); err != nil {
		return nil, err
	}
	load.tuning, err = tune(cfg, settings)
	return load, err
}

// open makes a replica on each device of the plan. GPUs that do not work are
// left out where the policy allows it: that a provider is there proves nothing,
// a run on it does. The CPU takes over when no GPU is left.
func (s *Session) open(ctx context.Context, load *loader, where plan) error {
	cpu, gpus := placement{device: Device{Kind: CPU}}, 0
	wanted := false
	var lost []string
	for _, p := range where.placements {
		if !p.device.GPU() {
			cpu, wanted = p, true
			continue
		}
		gpus++
		err := s.add(ctx, load, p)
		switch {
		case err == nil:
		case failure.OfContext(ctx) != nil || !p.wish && load.tuning.fallback != FallbackCPU:
			return err
		case p.wish:
			s.logger.Debug("no GPU is used", "device", p.device.String(), "reason", failure.Message(err))
		default:
			lost = append(lost, failure.Message(err))
		}
	}
	if gpus > 0 && len(s.replicas) == 0 {
		cpu.count, wanted = where.count, true
	}
	if wanted {
		if err := s.add(ctx, load, cpu); err != nil {
			return err
		}
	}
	if len(lost) > 0 {
		s.remark = "runs on " + strings.Join(s.deviceNames(), ",") + " instead of " + s.asked + ": " + strings.Join(unique(lost), "; ")
	}
	return nil
}

// add opens a replica and proves that it runs. A wide session is opened beside it,
// so that loading takes hardly longer.
func (s *Session) add(ctx context.Context, load *loader, p placement) error {
	if p.denied != nil {
		return p.denied
	}
	var second *replica
	var beside sync.WaitGroup
	beside.Go(func() { second = s.openWide(ctx, load, p) })
	r, err := s.openProven(ctx, load, p)
	beside.Wait()
	if err != nil {
		if second != nil {
			_ = second.close()
		}
		return err
	}
	r.wide = second
	s.replicas = append(s.replicas, r)
	return nil
}

func (s *Session) openProven(ctx context.Context, load *loader, p placement) (*replica, error) {
	r, err := openReplica(load, p, load.tuning.at(Cores(), p))
	if err != nil {
		return nil, err
	}
	if err := s.probe(ctx, r, int64(load.cfg.GetMaxBatchSize())); err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}
