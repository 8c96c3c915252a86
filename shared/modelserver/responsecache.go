package modelserver

import (
	"container/list"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
	"triptych/shared/oip"
)

// CacheParameter is the response parameter that tells where the answer of a model
// with a response cache came from.
const CacheParameter = "triptych_cache"

// The values of CacheParameter.
const (
	CacheHit       = "hit"       // from memory
	CacheMiss      = "miss"      // from a run of its own
	CacheCoalesced = "coalesced" // from the run of an equal request
)

// responseCache answers the requests of one version: from memory, from the run of
// an equal request, or by a run. Its maps are guarded by the store's lock.
type responseCache struct {
	store *responseStore
	v     *version

	kept      map[responseKey]*list.Element
	runs      map[runKey]*sharedRun
	size      int64
	evictions uint64
}

// open gives a version its cache; nil when its configuration wants none.
func (s *responseStore) open(v *version, logger *slog.Logger) *responseCache {
	if !v.config.GetResponseCache().GetEnable() {
		return nil
	}
	if v.config.GetPlatform() == modelconfig.EnsemblePlatform {
		// Its steps are loaded again without asking it: a kept answer could be an old
		// version's.
		logger.Warn("response_cache of an ensemble does nothing: enable it for its steps")
		return nil
	}
	return &responseCache{store: s, v: v, kept: map[responseKey]*list.Element{}, runs: map[runKey]*sharedRun{}}
}

// close forgets everything. A nil cache has nothing.
func (c *responseCache) close() {
	if c == nil {
		return
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, place := range c.kept {
		c.store.remove(place)
	}
}

// usage is what a cache holds now, and how often it had to give something up.
type usage struct {
	entries   int
	bytes     int64
	evictions uint64
}

func (c *responseCache) usage() usage {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return usage{len(c.kept), c.size, c.evictions}
}

// served is an answer and where it came from. Without a cache, from is empty.
type served struct {
	response *inference.ModelInferResponse
	timing   Timing
	from     string
}

// answer answers a request with raw contents that has been checked. The caller
// holds the version.
func (c *responseCache) answer(ctx context.Context, req *inference.ModelInferRequest, batch int64) (served, error) {
	start := time.Now()
	key, err := c.store.keys.make(ctx, req)
	if err != nil {
		return served{}, err
	}
	for again := false; ; again = true {
		found := c.enter(ctx, key, again)
		looked := time.Since(start)
		if found.kept != nil {
			c.v.stats.hit(looked)
			return served{response: share(found.kept), from: CacheHit}, nil
		}
		if found.leads {
			c.start(found, key, req, batch, looked)
		}
		run := found.run
		select {
		case <-run.done:
		case <-ctx.Done():
			c.leave(key, run)
			return served{}, failure.OfContext(ctx)
		}
		if !found.leads && run.endedBefore(ctx) {
			continue
		}
		return c.outcome(ctx, run, found.leads, time.Since(start))
	}
}

// outcome is what a run gave, for one of those who waited for it.
func (c *responseCache) outcome(ctx context.Context, run *sharedRun, led bool, waited time.Duration) (served, error) {
	if !led {
		c.v.stats.coalesced()
		trace.SpanFromContext(ctx).AddLink(run.leader)
	}
	if run.err != nil {
		return served{}, run.err
	}
	if led {
		return served{share(run.response), run.timing, CacheMiss}, nil
	}
	return served{share(run.response), Timing{Queue: waited}, CacheCoalesced}, nil
}

// found is what enter found: an answer, or a run to wait for, which the caller
// leads when nobody has begun it.
type found struct {
	kept  *inference.ModelInferResponse
	run   *sharedRun
	leads bool
	ctx   context.Context // of a run to begin
}

// enter looks for an answer, then for a run to join. One who has already waited
// for a run that gave up too early joins none that may do so again.
func (c *responseCache) enter(ctx context.Context, key runKey, again bool) found {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if kept := c.store.get(c, key.response); kept != nil {
		return found{kept: kept}
	}
	if run := c.runs[key]; run != nil && (!again || !run.shorterThan(ctx)) {
		run.waiting++
		return found{run: run}
	}
	run, runCtx := newSharedRun(ctx)
	c.runs[key] = run
	return found{run: run, leads: true, ctx: runCtx}
}

// leave is for one who waits no longer. The last to leave ends the run.
func (c *responseCache) leave(key runKey, run *sharedRun) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if run.waiting--; run.waiting == 0 {
		c.forget(key, run)
		run.cancel()
	}
}

// forget lets nobody join a run any more. It is called with the lock held.
func (c *responseCache) forget(key runKey, run *sharedRun) {
	if c.runs[key] == run {
		delete(c.runs, key)
	}
}

// keepable makes what is kept of an answer: nil when it is too large, or when it
// would be no answer to the next one who asks.
func (c *responseCache) keepable(key runKey, req *inference.ModelInferRequest, resp *inference.ModelInferResponse) *keptResponse {
	size := sizeOf(resp)
	if !c.store.room(size) || !whole(req, resp) {
		return nil
	}
	return &keptResponse{c, key.response, detach(resp), size}
}

// whole tells whether an answer has every output that was asked for, with bytes
// that fit.
func whole(req *inference.ModelInferRequest, resp *inference.ModelInferResponse) bool {
	if len(resp.GetOutputs()) != len(resp.GetRawOutputContents()) || oip.Arrange(req, share(resp)) != nil {
		return false
	}
	for i, out := range resp.GetOutputs() {
		if out.GetDatatype() == oip.Bytes {
			continue
		}
		if size, err := oip.ByteSize(out.GetDatatype(), out.GetShape()); err != nil || size != int64(len(resp.GetRawOutputContents()[i])) {
			return false
		}
	}
	return true
}
