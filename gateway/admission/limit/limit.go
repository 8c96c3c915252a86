// Package limit finds out how many requests a model can work on at a time: as many
// as raise its throughput, and not those more that only wait inside. It goes by
// measured latency, and by what is said of queues inside where something is. It has no
// clock of its own and makes nobody wait.
//
// It is a gradient limit as in Netflix's concurrency-limits (E. Landau, W. Thurston,
// T. Bozarth, "Performance Under Load", 2018): latency is compared with a reference,
// and what it has grown by is taken for a queue. There the reference is the latency
// of long ago. A batching model's latency rightly grows with what is in flight, since
// its batches do, and a new version's may be another for good; so here the reference
// is the latency of a moment ago at a slightly different limit. The limit swings
// around its centre, as the rate does in PCC Vivace (M. Dong et al., "PCC Vivace:
// Online-Learning Congestion Control", NSDI 2018), and by Little's law the two
// latencies tell what the difference in concurrency bought: the gradient
// d ln(latency) / d ln(in flight) is 0 where every further request is worked on at
// once, and 1 where all of them only wait. The centre goes to where it is "wanted",
// slightly below 1. (That is the greatest "power" of L. Kleinrock, "Power and
// deterministic rules of thumb for probabilistic problems in computer
// communications", ICC 1979, with a weight on throughput.) docs/adr/0022 has figures.
package limit

import (
	"math"
	"time"
)

const (
	// wanted is the gradient at which the limit rests: a limit that is 10 % greater
	// would raise the throughput by less than 1 %.
	wanted = 0.9
	// stride is how much the first limits grow from one to the next, as in TCP's slow
	// start, until one is found that had more wait: until the gradient is above doubtful.
	stride, doubtful = 1.5, 0.8
	// swing is how far the limit goes above and below its centre, as a factor.
	swing = 1.25
	// believe is the weight of a new gradient against those before.
	believe = 0.35
	// most is how far from the wanted one a gradient is believed to be: as far on either
	// side, so that noise alone leads nowhere.
	most = 0.6
	// Steps of the centre, as logarithms: how much of the difference to the wanted
	// gradient is made good at a time, and the most.
	gainUp, gainDown, mostUp, mostDown = 0.5, 2.0, 0.4, 0.2
	// doubt is what the centre falls by when nothing sure was found: else noise would
	// have it wander, and a limit that is too high costs more than one that is too low
	// and is soon found to be.
	doubt = 0.02
	// longest is how many times the least latency a request may take, whatever the
	// gradient is: batching takes less, and what noise may lead to is bounded. The least
	// is forgotten at a rate; and what takes that long at the least limit is slow by
	// itself: that is another version of the model.
	longest, forget = 6.0, 0.005
	// mostCrowd is the part of its time for which a request in work may wait in the
	// stages while others are taken: what is beyond buys nothing, whatever the gradient
	// seems to be. From enoughCrowd on there is nothing to be found out.
	enoughCrowd, mostCrowd = 0.25, 0.4
	// cut is what a model's own refusal does to the centre, as AIMD has it.
	cut = 0.9
	// mostLate is the share of requests lately that may be late before that counts
	// like a refusal, and lateWeight the weight of the newest one.
	mostLate, lateWeight = 0.1, 1. / 32
	// A phase has so many samples at the least, and so many for each request that is
	// in flight: the batches of a model come back together.
	leastSamples, samplesEach = 60, 3
	// A phase counts when the limit was in the way: when on average so much of it was
	// in flight.
	full = 0.9
)

// Limit is the limit of one model. It is not safe for concurrent use.
type Limit struct {
	cfg      Config
	centre   float64
	starting bool
	gradient float64
	crowd    float64 // part of its time for which a request waits in the stages
	phase    phase
	history  []point // of the last phases, oldest first
	held     float64 // seconds, a moving average
	late     float64 // share of the last requests, a moving average
	dropped  time.Time
	baseline time.Duration
	least    float64 // the logarithm of the least mean latency of a phase; 0 before one
}

// New makes a limit. The settings have been validated.
func New(cfg Config) *Limit {
	return &Limit{cfg: cfg, centre: float64(cfg.Initial), gradient: wanted, starting: true}
}

// Now is how many requests may be in flight.
func (l *Limit) Now() int {
	if l.cfg.Fixed > 0 {
		return l.cfg.Fixed
	}
	return l.at(l.phase.side)
}

// at is the limit on a side of the centre.
func (l *Limit) at(side int) int {
	c := l.bounded(l.centre)
	switch side {
	case -1:
		return max(l.cfg.Min, int(math.Floor(c/swing)))
	case 1:
		return min(max(int(c)+1, int(math.Ceil(c*swing))), l.cfg.Max)
	default:
		return int(math.Round(c))
	}
}

// Centre is the limit without its swing.
func (l *Limit) Centre() float64 {
	if l.cfg.Fixed > 0 {
		return float64(l.cfg.Fixed)
	}
	return l.bounded(l.centre)
}

// Crowd is the part of its time for which a request that is in work waits in the
// queues of the stages, by what they say.
func (l *Limit) Crowd() float64 { return l.crowd }

// Gradient is what the limit goes by: 0 when a further request in flight is worked
// on at once, 1 when it only waits.
func (l *Limit) Gradient() float64 { return l.gradient }

// Baseline is the mean latency in the last phase below the centre, with which that
// above it is compared; 0 before there was one.
func (l *Limit) Baseline() time.Duration { return l.baseline }

func (l *Limit) bounded(c float64) float64 {
	return min(max(c, float64(l.cfg.Min)), float64(l.cfg.Max))
}

// Done learns from an answer: how long it took, for how much of that the stages say
// that it waited, and how many were in flight when it came, itself among them.
func (l *Limit) Done(now time.Time, held, queued time.Duration, flying int) {
	if l.cfg.Fixed > 0 {
		return
	}
	l.late -= lateWeight * l.late
	seconds := max(held.Seconds(), 1e-6)
	if l.held == 0 {
		l.held = seconds
	}
	l.held += (seconds - l.held) / 32
	p := &l.phase
	if p.since.IsZero() {
		p.since = now
	}
	// What was admitted before the phase began, and what it found in flight, is not
	// of this phase.
	if now.Sub(p.since).Seconds() < 1.25*l.held {
		return
	}
	p.samples++
	p.held += seconds
	p.queued += min(queued, held).Seconds()
	p.flying += float64(flying)
	if p.samples >= max(leastSamples, samplesEach*l.Now()) {
		l.end(now)
	}
}

// Refused learns that the model itself had no room for a request: there is more in
// flight than it can hold. Of many refusals at about the same time one counts.
func (l *Limit) Refused(now time.Time) {
	if l.cfg.Fixed > 0 || now.Sub(l.dropped).Seconds() < max(l.held, 0.1) {
		return
	}
	l.dropped = now
	l.centre = l.bounded(l.bounded(l.centre) * cut)
	l.starting = false
	l.history = l.history[:0]
}

// Late learns that a request's deadline passed in the model, though it had as long as
// others take. Work that is given up tells nothing of latency, so that without this the
// limit would stay where nobody is answered in time.
func (l *Limit) Late(now time.Time) {
	if l.late += lateWeight * (1 - l.late); l.late > mostLate {
		l.Refused(now)
	}
}
