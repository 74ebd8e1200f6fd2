// Package detector decides when a process is to be suspected, as the seeds do it: a process asks
// the coordinator something and gets no answer within T = 2·Ttrans + Tprocess (001, 003). T is
// measured and kept within the bounds of the group's timing. A link that the peer's kernel closed
// or refused is evidence at once.
//
// It decides only: whoever drives it asks the questions, tells the answers and keeps the time that
// is passed in. Not safe for concurrent use; a Finding is valid until the next Tick. What is not
// promised: that a suspected process has failed.
package detector

import (
	"cmp"
	"time"
)

// Instant is a reading of CLOCK_BOOTTIME, as internal/lease counts it; 0 is never.
type Instant = time.Duration

// Timing bounds detection.
type Timing struct {
	Heartbeat time.Duration // between two questions
	Timeout   time.Duration // upper bound of T
}

// Question is what to ask whom.
type Question struct {
	Process  string
	Sequence uint64
}

// Finding is what a Tick found.
type Finding struct {
	Ask []Question // to ask now
	// watched processes that have not answered within T; each is named once until it answers again
	Silent  []string
	Suspect string // the coordinator, if it is to be suspected
}

// Detector watches the coordinator and whatever other processes an algorithm depends on.
type Detector struct {
	rank        func() int // see New
	timing      Timing
	round       estimate
	watched     []watch // in the order in which they are asked
	spare       []watch // memory for the next list of them
	finding     Finding // of the last Tick
	coordinator string
	suspicion   suspicion     // of the coordinator
	heartbeat   time.Duration // of the process that was heard last; 0: of the timing
	due         Instant       // when the last Tick asked to be called again
	sequence    uint64
}

type watch struct {
	process  string
	asked    uint64  // sequence of the oldest question without an answer; 0: none
	askedAt  Instant // when it was asked
	sent     Instant // when the newest question was asked
	silent   bool
	only     bool // it is asked only: that it does not answer means nothing
	newestAt uint64
	measured Instant // when the newest answer was measured
}

// New returns a detector that watches nobody. The rank, which is asked for when there is evidence
// about the coordinator, counts the live candidates between this process and the coordinator.
func New(t Timing, rank func() int) *Detector {
	return &Detector{timing: t, rank: rank}
}

// SetTiming changes the bounds.
func (d *Detector) SetTiming(t Timing) { d.timing = t }

// T is the time within which a live process answers: what was measured, but at least two heartbeats
// and at most the timeout. Before the first answer it is the timeout. The heartbeat is that of the
// process that was last heard, or the timing's.
func (d *Detector) T() time.Duration { return d.within(cmp.Or(d.heartbeat, d.timing.Heartbeat)) }

// within is the time within which a process answers that is heard so often.
func (d *Detector) within(heartbeat time.Duration) time.Duration {
	if d.round.samples == 0 {
		return d.timing.Timeout
	}
	return min(max(d.round.bound(), 2*heartbeat), d.timing.Timeout)
}

// timeout is how long a watched process may be silent. Only the coordinator's own heartbeat says
// how soon it is to be missed; the others' links may be slower than its are.
func (d *Detector) timeout(w *watch) time.Duration {
	if w.process == d.coordinator {
		return d.T()
	}
	return d.within(d.timing.Heartbeat)
}

// Watch sets whom to ask from now on: the coordinator (empty: none) and others, whose silence is a
// finding, and those that are asked only. A new one is asked at the next Tick. So is a new
// coordinator that was silent before, which has T to answer: others elected it, so it may run, and
// if it does not it is named silent once more, and suspected.
func (d *Detector) Watch(coordinator string, others, askOnly []string) {
	if coordinator != d.coordinator {
		d.coordinator, d.suspicion = coordinator, suspicion{}
		if w := find(d.watched, coordinator); w != nil && w.silent {
			*w, d.due = watch{process: coordinator, measured: w.measured}, 0
		}
	}
	watched := d.spare[:0]
	for _, name := range others {
		watched = d.keep(watched, name, false)
	}
	if coordinator != "" {
		watched = d.keep(watched, coordinator, false)
	}
	for _, name := range askOnly {
		watched = d.keep(watched, name, true)
	}
	d.watched, d.spare = watched, d.watched
}

// keep adds a process to a list, once, with what is known of it. If it was asked only until now, it
// has T to answer from the next question on.
func (d *Detector) keep(list []watch, process string, only bool) []watch {
	if find(list, process) != nil {
		return list
	}
	w := watch{process: process}
	if known := find(d.watched, process); known != nil && (only || !known.only) {
		w = *known
	} else {
		d.due = 0
	}
	w.only = only
	return append(list, w)
}

// find looks a process up; nil: it is not watched.
func find(list []watch, process string) *watch {
	for i := range list {
		if list[i].process == process {
			return &list[i]
		}
	}
	return nil
}

// Answered takes the answer of a process to a question, and measures how long it took.
func (d *Detector) Answered(process string, sequence uint64, now Instant) {
	w := find(d.watched, process)
	if w == nil || w.asked == 0 || sequence < w.asked || sequence > w.newestAt {
		return
	}
	if sequence == w.newestAt {
		d.round.add(now - w.sent)
		w.measured = now
	}
	w.asked, w.silent = 0, false
}

// measureEvery is after how many heartbeats a process that sends heartbeats of its own is asked all
// the same, to measure T.
const measureEvery = 10

// Heard takes a heartbeat that the process sent unasked, and that says when the next one is due.
// While these come it is asked only to measure T; half a heartbeat after one is missing it is asked
// again.
func (d *Detector) Heard(process string, every time.Duration, now Instant) {
	w := find(d.watched, process)
	if w == nil {
		return
	}
	w.askedAt, w.silent = now, false
	if now-w.measured < measureEvery*d.timing.Heartbeat {
		w.asked, w.sent = 0, now+every*3/2-d.timing.Heartbeat
	}
	d.heartbeat = every
	d.Opened(process)
	if d.due != 0 && now-d.due <= d.T()/2 { // else this process stood still, and Tick is to see that
		d.due = max(now, d.Next(now))
	}
}

// Tick says what is to be done at this instant. It is to be called again at Next.
func (d *Detector) Tick(now Instant) Finding {
	f := Finding{Ask: d.finding.Ask[:0], Silent: d.finding.Silent[:0]}
	late := d.due != 0 && now-d.due > d.T()/2
	for i := range d.watched {
		w := &d.watched[i]
		if late && w.asked != 0 { // this process itself stood still: answers may lie unread
			w.askedAt = now
		}
		if w.asked != 0 && !w.silent && !w.only && now-w.askedAt >= d.timeout(w) {
			w.silent = true
			f.Silent = append(f.Silent, w.process)
			if w.process == d.coordinator {
				d.miss(now)
			}
		}
		if w.sent == 0 || now-w.sent >= d.timing.Heartbeat {
			f.Ask = append(f.Ask, d.question(w, now))
		}
	}
	if d.suspicion.due(now) {
		f.Suspect = d.coordinator
		d.suspicion.acted(now + d.T())
	}
	d.due, d.finding = d.Next(now), f
	return f
}

func (d *Detector) question(w *watch, now Instant) Question {
	d.sequence++
	w.sent, w.newestAt = now, d.sequence
	if w.asked == 0 {
		w.asked, w.askedAt = d.sequence, now
	}
	return Question{Process: w.process, Sequence: d.sequence}
}

// Next is when Tick is to be called, no later than a heartbeat from now. Someone newly watched is
// to be asked at once.
func (d *Detector) Next(now Instant) Instant {
	next := now + d.timing.Heartbeat
	earlier := func(t Instant) {
		if t < next {
			next = t
		}
	}
	for i := range d.watched {
		w := &d.watched[i]
		earlier(w.sent + d.timing.Heartbeat)
		if w.asked != 0 && !w.silent && !w.only {
			earlier(w.askedAt + d.timeout(w))
		}
	}
	if d.suspicion.at != 0 {
		earlier(d.suspicion.at)
	}
	return next
}
