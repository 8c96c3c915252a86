package router

import (
	"slices"
	"strings"
	"sync"
	"time"

	"triptych/shared/modelserver"
)

// listingAge is for how long what the repository has is remembered. Readiness, the
// index and each call of a model that nobody serves need it.
const listingAge = time.Second

// listing is the repository as it was a moment ago. It is read once for all who ask
// meanwhile, and remembers no name that the repository does not have.
type listing struct {
	scan func() ([]modelserver.Entry, error)

	mu      sync.Mutex
	read    time.Time
	entries []modelserver.Entry // by name
	err     error
}

func newListing(scan func() ([]modelserver.Entry, error)) *listing {
	return &listing{scan: scan}
}

// all lists every model, by name. The list belongs to the listing.
func (l *listing) all() ([]modelserver.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read.IsZero() || time.Since(l.read) >= listingAge {
		l.entries, l.err = l.scan()
		l.read = time.Now()
	}
	return l.entries, l.err
}

// find looks for one model.
func (l *listing) find(name string) (entry modelserver.Entry, found bool, err error) {
	entries, err := l.all()
	if err != nil {
		return modelserver.Entry{}, false, err
	}
	i, found := slices.BinarySearchFunc(entries, name, func(e modelserver.Entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	if !found {
		return modelserver.Entry{}, false, nil
	}
	return entries[i], true, nil
}
