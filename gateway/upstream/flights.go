package upstream

import (
	"container/list"
	"sync"
	"time"
)

// airborne is a flight of any kind.
type airborne interface {
	since() time.Duration
	at() target
	hedge(why string) bool
}

// flights are the calls at a replica that may get a second one, oldest first.
type flights struct {
	mu  sync.Mutex
	all list.List
}

// ticket is a flight's place.
type ticket = *list.Element

func (f *flights) add(a airborne) ticket {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all.PushBack(a)
}

func (f *flights) remove(t ticket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all.Remove(t)
}

// oldest is the flight that is under way longest, or nil.
func (f *flights) oldest() airborne {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.all.Front(); e != nil {
		return e.Value.(airborne)
	}
	return nil
}

// before are the flights that began before a time.
func (f *flights) before(t time.Duration) []airborne {
	f.mu.Lock()
	defer f.mu.Unlock()
	var old []airborne
	for e := f.all.Front(); e != nil; e = e.Next() {
		a := e.Value.(airborne)
		if a.since() >= t {
			break
		}
		old = append(old, a)
	}
	return old
}
