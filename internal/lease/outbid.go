package lease

import "time"

// LH9. A voter that has promised a higher ballot of this generation to a process that then found no
// majority denies the renewals. To win it back, the leaseholder seeks one ballot more beside its
// own, as in LH5, at most once per L, unless the voter claims to be more than 16 ballots ahead, or
// is bound to somebody else still: it would deny that, too, and the others would have promised it.
// That voter may be its own: it was silent at first (V1), and others have made this process the
// leaseholder. A voter that lies denies each renewal. So the leaseholder leaves each voter that it
// has outbid alone for L, the next time for 2 L, then for 4 L, and for an hour at most. If it did
// not outbid that voter for an hour, the pause is L again.

// outbidForgets is after what time a voter counts as one that was never outbid.
const outbidForgets = time.Hour

// outbid is when a voter was outbid last, and for how long it is left alone after that.
type outbid struct {
	at    Instant
	pause time.Duration
}

// outbid seeks a higher ballot if a voter can be won back by that, and is not left alone (LH9).
func (m *Machine) outbid() {
	l := &m.leaseholder
	if l.held == nil || l.sought != nil || m.now.Boot < l.outbidAfter {
		return
	}
	highest := int64(0)
	for i, q := range l.held.roster.Members {
		if o := l.outbids[q.Name]; l.held.canBeOutbid(i) && m.now.Boot-o.at >= o.pause {
			highest = max(highest, l.held.highest[i])
			m.leaveAlone(q.Name, o)
		}
	}
	if highest > 0 {
		l.outbidAfter = m.now.Boot + m.roster.Lease
		m.seek(highest+1, nil)
	}
}

// leaveAlone notes that a voter is outbid.
func (m *Machine) leaveAlone(name string, last outbid) {
	next := outbid{at: m.now.Boot, pause: m.roster.Lease}
	if last.pause > 0 && m.now.Boot-last.at < outbidForgets {
		next.pause = min(2*last.pause, outbidForgets)
	}
	if m.leaseholder.outbids == nil {
		m.leaseholder.outbids = map[string]outbid{}
	}
	m.leaseholder.outbids[name] = next
}

// canBeOutbid reports whether a voter has promised a higher ballot, is free again, and does not
// claim to be too far ahead.
func (t *tally) canBeOutbid(i int) bool {
	return t.highest[i] > 0 && t.highest[i] < t.epoch.Ballot()+maxBallotLead && !t.bound[i]
}
