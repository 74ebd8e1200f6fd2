package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// G4: a voter, over all its state directories, is never bound to two incarnations at once, promises
// no epoch twice (V3), and what it has promised is on its disk before anybody hears of it (V11).

// checkPromise checks a new promise against the earlier ones of that voter.
func (w *World) checkPromise(p int32, now, before, widest *promise) {
	switch {
	case w.timed() && before.to != now.to && w.now < before.until:
		w.fail("G4: %s promises %s to %v while %s is promised to %v until %s", names[p], now.epoch,
			now.to, before.epoch, before.to, clockFormat(before.until))
	case w.timed() && widest.to != now.to && w.now < widest.until:
		w.fail("G4: %s promises %s to %v while an earlier state directory has promised %s to %v until %s",
			names[p], now.epoch, now.to, widest.epoch, widest.to, clockFormat(widest.until))
	case now.epoch < before.epoch || now.epoch == before.epoch && before.to != now.to:
		w.fail("G2, V3: %s promises %s to %v after %s to %v", names[p], now.epoch, now.to, before.epoch,
			before.to)
	}
}

// checkGrant checks a vote that goes out: it is promised, and on the disk.
func (w *World) checkGrant(p int32, m *node.Message) {
	v := &m.Response
	if !votes(v.Kind) || !v.Granted || p == w.rogue {
		return
	}
	s, ok := m.ReplyTo.(*connection)
	if !ok || w.oracleOf(p) == nil {
		return
	}
	from := &w.processes[p]
	for i := range from.words {
		said := &from.words[i]
		if said.to.Name == names[s.from] && said.to.Number == s.caller && said.epoch == v.Epoch &&
			said.first <= v.Round && v.Round <= said.last {
			// A vote that waited for the disk counts in the group object that it was asked in, also if
			// the voter has another one's roster by now: it has promised, and remembers so (V12). An
			// epoch of two group objects may be the same; the rounds of a candidate never are.
			w.checkKept(p, v, said)
			w.give(p, &w.oracles[said.group-1], said.promise)
			return
		}
	}
	w.fail("G4: %s grants %s to %s, and has not promised it", names[p], v.Epoch, names[s.from])
}

// checkKept checks that what a voter grants is on its disk.
func (w *World) checkKept(p int32, v *lease.Response, said *word) {
	kept := &w.processes[p].disk.saved.lease
	if kept.Group != groups[said.group] {
		for e := kept.Earlier; e != nil; e = e.Next {
			if e.Group == groups[said.group] && e.Highest >= v.Epoch {
				return
			}
		}
		w.fail("V11, V12: %s grants %s to %v in a group object that it has left; its disk has %+v",
			names[p], v.Epoch, said.to, *kept)
		return
	}
	if kept.Highest < v.Epoch || kept.Highest == v.Epoch && kept.To != said.to && kept.To.Name != "" {
		w.fail("V11: %s grants %s to %v; its disk has %+v", names[p], v.Epoch, said.to, *kept)
	}
}

// votes reports whether what is asked for is a promise.
func votes(k lease.Kind) bool { return k == lease.Vote || k == lease.Renew }
