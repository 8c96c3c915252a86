package decode

import (
	"context"
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"

	"triptych/services/preprocess/pixels"
	"triptych/shared/failure"
)

// largestProfile is how many bytes a color profile may have. Those of cameras
// and screens have a few thousand.
const largestProfile = 1 << 20

// Profiles turn colors that a file's embedded profile describes into sRGB, and
// keep what that takes for the profiles that were met last. Safe for concurrent use.
type Profiles struct {
	cache             *profileCache
	converted, broken atomic.Uint64
}

// NewProfiles makes Profiles that remember at most so many, at least 1.
func NewProfiles(most int) *Profiles {
	p := &Profiles{cache: &profileCache{most: max(most, 1), entries: map[[sha256.Size]byte]*profileEntry{}}}
	runtime.AddCleanup(p, (*profileCache).clear, p.cache)
	return p
}

// Converted is how many pictures have been converted.
func (p *Profiles) Converted() uint64 { return p.converted.Load() }

// Broken is how many pictures had a profile that is broken, too large or not
// about RGB. Their pixels stayed as they were.
func (p *Profiles) Broken() uint64 { return p.broken.Load() }

// convert turns the pixels into sRGB by the profile that the file holds, if it
// holds one. Only the end of ctx is an error: metadata never fail an image.
func (p *Profiles) convert(ctx context.Context, format Format, file []byte, img *pixels.Image) error {
	profile, ok := profileIn(format, file)
	if ok && len(profile) == 0 {
		return nil
	}
	if !ok || len(profile) > largestProfile {
		p.broken.Add(1)
		return nil
	}
	e := p.cache.borrow(profile)
	defer p.cache.giveBack(e)
	switch e.how {
	case profileBroken:
		p.broken.Add(1)
	case profileOther:
		p.converted.Add(1)
		return e.apply(ctx, img.Pix)
	}
	return nil
}

// What a profile is good for.
const (
	profileBroken = iota // nothing
	profileSame          // it is sRGB itself
	profileOther         // it has to be converted
)

// profileEntry is what the cache knows of a profile.
type profileEntry struct {
	how int
	toSRGB
	// users are who converts by it now, used is when one began.
	users, used uint64
	forgotten   bool
}

// apply converts pixels in place.
func (e *profileEntry) apply(ctx context.Context, pix []byte) error {
	const step = pixels.Samples << 18
	for len(pix) > 0 {
		if err := failure.OfContext(ctx); err != nil {
			return err
		}
		n := min(step, len(pix))
		e.convert(pix[:n])
		pix = pix[n:]
	}
	return nil
}

type profileCache struct {
	most    int
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*profileEntry
	clock   uint64
}

// borrow finds or makes the entry of a profile. The caller gives it back.
func (c *profileCache) borrow(profile []byte) *profileEntry {
	key := sha256.Sum256(profile)
	if e := c.lend(key, nil); e != nil {
		return e
	}
	// Outside of the lock, for it takes milliseconds; two may do it at once.
	return c.lend(key, newProfileEntry(profile))
}

// lend lends the entry that is there, or else the fresh one.
func (c *profileCache) lend(key [sha256.Size]byte, fresh *profileEntry) *profileEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	switch {
	case e == nil && fresh == nil:
		return nil
	case e == nil:
		e = fresh
		c.forgetOldest()
		c.entries[key] = e
	case fresh != nil:
		fresh.free()
	}
	c.clock++
	e.used = c.clock
	e.users++
	return e
}

// forgetOldest makes room for one entry.
func (c *profileCache) forgetOldest() {
	if len(c.entries) < c.most {
		return
	}
	var oldest [sha256.Size]byte
	at := c.clock + 1
	for key, e := range c.entries {
		if e.used < at {
			oldest, at = key, e.used
		}
	}
	c.forget(oldest)
}

// forget frees an entry, at the end of its last user.
func (c *profileCache) forget(key [sha256.Size]byte) {
	e := c.entries[key]
	delete(c.entries, key)
	if e.forgotten = true; e.users == 0 {
		e.free()
	}
}

func (c *profileCache) giveBack(e *profileEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users == 0 && e.forgotten {
		e.free()
	}
}

func (c *profileCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.entries {
		c.forget(key)
	}
}

func newProfileEntry(profile []byte) *profileEntry {
	if !usableProfile(profile) {
		return &profileEntry{how: profileBroken}
	}
	e := &profileEntry{how: profileOther}
	if !e.open(profile) {
		e.how = profileBroken
	} else if e.same() {
		e.how = profileSame
	}
	return e
}

// same tells whether converting changes colors by one level at most.
func (t *toSRGB) same() bool {
	const step = 15
	var before []byte
	for r := 0; r < 256; r += step {
		for g := 0; g < 256; g += step {
			for b := 0; b < 256; b += step {
				before = append(before, byte(r), byte(g), byte(b))
			}
		}
	}
	after := append([]byte(nil), before...)
	t.convert(after)
	for i, v := range after {
		if d := int(v) - int(before[i]); d < -1 || d > 1 {
			return false
		}
	}
	return true
}
