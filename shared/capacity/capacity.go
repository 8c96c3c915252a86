// Package capacity is how a service says how much it can take of one model: with
// each answer, so that whoever sends it work knows, without asking. It knows
// nothing of how that is found out.
package capacity

import (
	"strconv"
	"strings"
	"time"
)

// Trailer is the name of the gRPC trailer in which a Report travels.
const Trailer = "triptych-capacity"

// Report is what a service can take of one model. Work for which nobody waits,
// that of jobs, is in none of the numbers but Running.
type Report struct {
	// Slots is how much runs at once: instances, or workers.
	Slots int
	// Running is how many requests run, one at least in each slot that is taken; of
	// preprocess, how many images.
	Running int
	// Waiting is how many requests wait for a slot.
	Waiting int
	// Age is how long the one of those that goes next had waited already when a slot last
	// took others: that is a queue. One that came since only waits for its turn, and has
	// none. It travels in microseconds.
	Age time.Duration
}

// String is the form in which a report travels, such as
// "slots=2;running=2;waiting=7;age_us=1200".
func (r Report) String() string {
	b := make([]byte, 0, 64)
	b = strconv.AppendInt(append(b, "slots="...), int64(r.Slots), 10)
	b = strconv.AppendInt(append(b, ";running="...), int64(r.Running), 10)
	b = strconv.AppendInt(append(b, ";waiting="...), int64(r.Waiting), 10)
	b = strconv.AppendInt(append(b, ";age_us="...), r.Age.Microseconds(), 10)
	return string(b)
}

// most bounds the numbers that are believed, so that sums of them are numbers too.
const most = 1<<31 - 1

// Parse reads what String wrote. It is false for anything else, but for keys that a
// later release may add.
func Parse(text string) (r Report, ok bool) {
	for len(text) > 0 {
		var pair string
		pair, text, _ = strings.Cut(text, ";")
		key, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n > most {
			return Report{}, false
		}
		switch key {
		case "slots":
			r.Slots, ok = int(n), n > 0
		case "running":
			r.Running = int(n)
		case "waiting":
			r.Waiting = int(n)
		case "age_us":
			r.Age = time.Duration(n) * time.Microsecond
		}
	}
	return r, ok
}
