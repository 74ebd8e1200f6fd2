package lease

import "time"

// LH10. The leaseholder asks for as short a lease as it can hold. A roster bounds it: Lease is the
// longest, LeaseMinimum the shortest. It measures the gap: the time from sending the newest renewal
// that a majority had granted until a majority granted a later one. In it is everything that can
// end a lease: the heartbeat, the links, the voters and their machines, and pauses of this process.
// The first gap begins with VOTE, so the disks are in it, too, for which no renewal waits; but not
// where the epoch changes in place (LH5, LH9), because the renewals went on. What of a gap is over
// the heartbeat is called the delay.
//
//   - A gap of over half the window, and a lease that lapses, make the lease longer at once: it is
//     doubled until such a delay would make a gap of at most half of its window; but what would be
//     more than half of the longest lease becomes the longest. The gap of a lapse ends when the
//     process hears from any other one again. If the longest lease would not have prevented the
//     lapse, it says nothing: the process stood still for seconds, or was cut off from everybody.
//   - When nothing has made it longer for a while, it is halved if the longest delay since would
//     make a gap of at most two fifths of the shorter lease's window. That while is 2 s at first,
//     twice as long after each time that it was made longer, or would have been if it were not the
//     longest; it halves each time that it has passed with the shortest lease.
//
// An app that asks now and then what it may do can act all the time only if it asks again before
// what it was told runs out; and one that keeps a session, and stands still at times, only if it
// reads on before. So the time between two questions, plus a heartbeat, is also to be at most nine
// tenths of the window. Questions that even the longest lease is too short for do not count.
//
// A process whose CPU quota may delay it asks, within the roster's bounds, for no shorter lease
// than one in which a renewal may come late by what Burst takes longer then: a heartbeat and that
// delay are at most the window. Nor does it ask, within these bounds, for a lease so short that it
// would send more than one renewal a millisecond: those of a large group would keep its machines so
// busy that they come too late.
//
// A lease is renewed four times while it runs, or every heartbeat of the roster if that is more
// often. The renewal says when the next one is due (V9, F4).
//
// A process begins with the shortest lease. When a roster names other bounds, it goes on with the
// lease that it had, within them. A process that takes over begins with the lease that the last
// leaseholder asked for, if that is longer than its own: the network and most of the machines are
// the same, and a process that has just started knows nothing of them. It keeps to that lease for
// 2 s, times how often the shortest goes into it, unless delays are short enough even for the
// shortest: a busy machine seems quick for 2 s at times. What it learnt when it led before it
// forgets meanwhile, as slowly as the lease would have become shorter.
//
// A process that holds no lease yet asks in its VOTE for the roster's Lease. Until the promises of
// the votes run out, renewals show what the machines and the network are like. So a leaseholder
// that fails within one Lease after its election is missed for up to that long. A leaseholder that
// seeks an epoch beside the one that it holds (LH5, LH9) has measured its voters already. It asks
// for the lease that it needs, but for no less than what is left of the one that it holds. If these
// are not the voters of the new roster, it asks for the longest again. If votes wait for a slow
// disk, VOTE is repeated every heartbeat meanwhile, and what counts is the newest that is granted
// (LH1).

// length is how long a lease this process asks for. It outlives a lease: what a machine is like
// does not change with who leads. But it is forgotten with time.
type length struct {
	lease     time.Duration // 0: there was no roster yet
	throttled time.Duration // by how much this process's CPU quota may delay Burst
	shortest  time.Duration // that the roster, its size and the quota allow
	others    time.Duration // the lease that another process asked for last; 0: not since this one led
	patience  time.Duration // how long it must go well until a shorter lease is tried
	inherited Instant       // until when the lease of the last leaseholder counts
	since     Instant       // when it last became longer or shorter, or could have become shorter
	delay     time.Duration // the longest since
	asking    time.Duration // the longest time between two questions of the app since
	shortened Instant       // when it last became shorter
	lapse     Instant       // when the gap began that ended the last lease; 0: its length is known
}

// The numbers of LH10.
const (
	// leastPatience and mostPatience bound how long it must go well until a shorter lease is tried.
	leastPatience, mostPatience = 2 * time.Second, 10 * time.Minute
	// Burst is the CPU time that may come between two renewals: above all handshakes, of this
	// process and of its voters, when another one comes back or is reached again. With a quota of
	// 10 of 100 ms, half of that was not enough (ADR 7).
	Burst = 40 * time.Millisecond
	// LeastLease is the shortest lease that a roster may name.
	LeastLease = 40 * time.Millisecond
	// perMember is how long it is for each member, at least, until a lease is renewed again.
	perMember = time.Millisecond
)

// Shortest returns the shortest lease that a leaseholder of a group of this size asks for, where
// its roster has these bounds: it sends at most one renewal a millisecond, if the longest lease and
// the roster's heartbeat allow that.
func Shortest(members int, heartbeat, shortest, longest time.Duration) time.Duration {
	lease, often := shortest, min(time.Duration(members)*perMember, heartbeat)
	for lease < longest && lease/beats < often {
		lease = min(2*lease, longest)
	}
	return lease
}

// shortest returns the shortest lease that the roster allows.
func (r *Roster) shortest() time.Duration {
	if r.LeaseMinimum <= 0 {
		return r.Lease
	}
	return min(r.LeaseMinimum, r.Lease)
}

// adapt keeps the length within the bounds of a roster.
func (l *length) adapt(r *Roster, now Instant) {
	if shortest := l.least(r); l.shortest != shortest {
		*l = length{
			throttled: l.throttled,
			lease:     max(l.lease, shortest),
			shortest:  shortest,
			others:    l.others,
			patience:  leastPatience,
			since:     now,
			shortened: now,
			lapse:     l.lapse,
		}
	}
	l.lease = min(l.lease, r.Lease)
}

// least doubles the shortest lease of the group until h(L) + s ≤ W(L), where s is by how much the
// CPU quota may delay Burst.
func (l *length) least(r *Roster) time.Duration {
	lease := Shortest(len(r.Members), r.Heartbeat, r.shortest(), r.Lease)
	for lease < r.Lease && r.heartbeat(lease)+l.throttled > Window(lease) {
		lease = min(2*lease, r.Lease)
	}
	return lease
}

// heard takes the lease that another process, which leads, asks for.
func (l *length) heard(lease time.Duration) { l.others = lease }

// begin: this process leads from now on.
func (l *length) begin(r *Roster, now Instant) {
	l.reached(r, now)
	if l.others == 0 {
		return // it led before: it has another epoch
	}
	l.forget(now)
	if l.others > l.lease {
		l.lease = min(l.others, r.Lease)
		times := int64(l.lease / l.shortest)
		l.inherited = now + leastPatience*time.Duration(times)
	}
	l.since, l.delay, l.asking, l.others = now, 0, 0, 0
}

// forget makes the lease as short as it would be by now if this process had led on undisturbed.
// What the last leaseholder asked for is known; this is about the process's own machine.
func (l *length) forget(now Instant) {
	for idle := now - l.since; idle >= l.patience && l.lease > l.shortest; idle -= l.patience {
		l.lease = max(l.lease/2, l.shortest)
	}
}

// In what follows W(L) is the window of a lease L, h(L) its heartbeat, d the longest delay, and q
// the longest time between two questions of the app.

// renewed takes the gap before a renewal that a majority has granted: L is too short if gap >
// W(L)/2. A gap that began under a longer lease, or when it became shorter, says nothing of this
// one: the renewals came less often.
func (l *length) renewed(r *Roster, gap time.Duration, now Instant) {
	if now-gap <= l.shortened {
		return
	}
	delay := max(gap-r.heartbeat(l.lease), 0)
	l.delay = max(l.delay, delay)
	switch {
	case gap > Window(l.lease)/2:
		l.lengthen(r, delay, now)
	case now-l.since >= l.patience:
		l.shorten(r, now)
	}
}

// lapsed begins to measure the gap that has ended a lease: from the sending of its newest renewal
// that a majority had granted.
func (l *length) lapsed(renewed Instant) { l.lapse = renewed }

// reached ends the gap of a lapse: this process hears from another one again.
func (l *length) reached(r *Roster, now Instant) {
	gap := now - l.lapse
	if l.lapse > 0 && gap <= Window(r.Lease) {
		l.lengthen(r, max(gap-r.heartbeat(l.lease), 0), now)
	}
	l.lapse = 0
}

// asked takes the time between two questions of the app: L is too short if h(L) + q > 9/10 W(L).
func (l *length) asked(r *Roster, gap time.Duration, now Instant) {
	if r.heartbeat(r.Lease)+gap > enough(r.Lease) {
		return
	}
	l.asking = max(l.asking, gap)
	if r.heartbeat(l.lease)+l.asking > enough(l.lease) {
		l.lengthen(r, 0, now)
	}
}

// enough returns the most that the time between two questions of the app, plus a heartbeat, may
// come to.
func enough(lease time.Duration) time.Duration { return Window(lease) * 9 / 10 }

// lengthen doubles L until h(L) + d ≤ W(L)/2 and h(L) + q ≤ 9/10 W(L). A lease of more than half of
// the longest is not worth it: a failover would be a little quicker, and the lease might lapse.
func (l *length) lengthen(r *Roster, delay time.Duration, now Instant) {
	for l.lease < r.Lease && (r.heartbeat(l.lease)+delay > Window(l.lease)/2 ||
		r.heartbeat(l.lease)+l.asking > enough(l.lease)) {
		if l.lease *= 2; l.lease > r.Lease/2 {
			l.lease = r.Lease
		}
	}
	l.patience = min(2*l.patience, mostPatience)
	l.since, l.delay, l.asking = now, 0, 0
}

// shorten halves L if h(L/2) + d ≤ 2/5 W(L/2) and h(L/2) + q ≤ 9/10 W(L/2). While L is inherited,
// it must be as quick as for the shortest lease.
func (l *length) shorten(r *Roster, now Instant) {
	shorter := max(l.lease/2, l.shortest)
	quick := shorter
	if now < l.inherited {
		quick = l.shortest
	}
	switch {
	case l.lease == l.shortest:
		l.patience = max(l.patience/2, leastPatience)
	case r.heartbeat(quick)+l.delay <= Window(quick)*2/5 &&
		r.heartbeat(shorter)+l.asking <= enough(shorter):
		l.lease, l.shortened = shorter, now
	}
	l.since, l.delay, l.asking = now, 0, 0
}
