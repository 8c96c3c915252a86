package modelserver

import (
	"context"
	"maps"
	"sync"
	"time"

	"triptych/shared/failure"
)

// Poll follows the repository until ctx ends: it looks every so often, and loads
// what is new, loads again what has changed and unloads what is gone. A change is
// acted on when the model's folder has looked the same for the time settle: who
// copies files is let finish. What could not be loaded is tried again when its
// files change, not before.
func (r *Registry) Poll(ctx context.Context, every, settle time.Duration) {
	p := &poller{registry: r, every: every, settle: settle, sights: map[string]sight{}, busy: map[string]bool{}}
	defer p.acts.Wait()
	for pause(ctx, p.look(ctx)) {
	}
}

// poller remembers what it saw at its last look.
type poller struct {
	registry      *Registry
	every, settle time.Duration
	sights        map[string]sight // of models that have changed
	trouble       string           // why the last look failed

	acts sync.WaitGroup
	mu   sync.Mutex
	busy map[string]bool // models that are acted on now
}

// sight is what a changed model's folder looks like, and since when.
type sight struct {
	files tree
	since time.Time
}

// look looks at every model once, and says when to look again: soon, when
// something has changed and may have settled by then.
func (p *poller) look(ctx context.Context) time.Duration {
	entries, err := p.registry.repository.Scan()
	if p.troubled(err) {
		return p.every
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name] = true
		if !p.registry.ours(e) && !p.registry.Has(e.Name) {
			continue
		}
		files, err := survey(e.Directory)
		if err != nil {
			// It is being changed, or can't be read: another state like any other.
			files = tree{".": failure.Message(err)}
		}
		e.files = files
		p.consider(ctx, e.Name, files, func(ctx context.Context) { p.registry.follow(ctx, e) })
	}
	for _, name := range p.registry.names() {
		if !there[name] {
			p.consider(ctx, name, nil, func(ctx context.Context) { p.registry.drop(ctx, name) })
		}
	}
	if len(p.sights) > 0 {
		return min(p.every, max(p.settle, time.Millisecond))
	}
	return p.every
}

// troubled tells whether the repository can't be read, and logs it once.
func (p *poller) troubled(err error) bool {
	trouble := ""
	if err != nil {
		trouble = failure.Message(err)
	}
	if trouble != p.trouble && trouble != "" {
		p.registry.telemetry.Logger.Error("models not looked at", "error", err)
	}
	p.trouble = trouble
	return err != nil
}

// consider acts on a model whose files differ from those that were acted on last,
// once they have settled.
func (p *poller) consider(ctx context.Context, name string, files tree, act func(ctx context.Context)) {
	if seen, known := p.registry.lastSeen(name); known && maps.Equal(seen, files) && files != nil {
		delete(p.sights, name)
		return
	}
	before, changed := p.sights[name]
	if !changed || !maps.Equal(before.files, files) {
		before = sight{files, time.Now()}
		p.sights[name] = before
	}
	if time.Since(before.since) < p.settle || !p.take(name) {
		return
	}
	delete(p.sights, name)
	p.acts.Go(func() {
		defer p.free(name)
		act(ctx)
	})
}

func (p *poller) take(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[name] {
		return false
	}
	p.busy[name] = true
	return true
}

func (p *poller) free(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, name)
}

// lastSeen is what a model's folder looked like when it was last acted on.
func (r *Registry) lastSeen(name string) (tree, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	files, known := r.seen[name]
	return files, known
}

// follow acts on a model that has changed. The reason of a failure is kept with
// the model and has been logged.
func (r *Registry) follow(ctx context.Context, e Entry) {
	switch {
	case r.ours(e):
		_ = r.load(ctx, ctx, e)
	case e.Err != nil:
		r.mistake(ctx, e)
	default:
		r.drop(ctx, e.Name) // another service's from now on
	}
}

// mistake notes that a model of ours has a configuration that can't be used now.
func (r *Registry) mistake(ctx context.Context, e Entry) {
	turn, err := r.turns.begin(ctx, e.Name)
	if err != nil {
		return
	}
	defer turn.end()
	r.mu.Lock()
	r.seen[e.Name] = e.files
	r.mu.Unlock()
	m := r.get(e.Name)
	r.outcomes.add(e.Name, e.Err)
	r.refuse(e.Name, m.serving(), e.Err)
}

// drop unloads a model and forgets it: the repository has it no longer.
func (r *Registry) drop(ctx context.Context, name string) {
	if err := r.Unload(ctx, name); err != nil {
		r.telemetry.Logger.Warn("a model that is gone is not closed", "model", name, "error", err)
	}
	r.mu.Lock()
	delete(r.models, name)
	delete(r.seen, name)
	r.mu.Unlock()
	r.generation.Add(1)
	r.outcomes.forget(name)
}
