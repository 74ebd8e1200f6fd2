package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/node"
)

// The subscription of an agent at a manager: reports go one way, rosters the other.

// report is what an agent told a manager last.
type report struct {
	at           Time // 0: nothing
	since        time.Time
	uid, stateID string
	number       uint64
	group        int
	generation   int64
	leaving      bool
	left         bool
	coordinator  string
	ballotsSpent bool
	rules        int32
	follows      string // Classic, too
	epoch        int64
	notCandidate bool
}

// patience is how long an agent may be silent before it counts as disconnected.
const patience = 5 * T

func (r *report) asFact(now Time, group int) membership.Report {
	f := membership.Report{
		UID:        r.uid,
		StateID:    r.stateID,
		Connected:  now-r.at < patience,
		Since:      r.since,
		Leaving:    r.leaving,
		Left:       r.left,
		Rules:      r.rules,
		Generation: r.generation,
		OtherGroup: r.group != 0 && r.group != group,
	}
	if r.group == group {
		f.Coordinator, f.BallotsSpent = r.coordinator, r.ballotsSpent
		f.NotCandidate = r.notCandidate
	}
	return f
}

// tellAgents sends the roster that a manager takes for the newest to the agents that are connected
// to it. Each receives it in its own time.
func (w *World) tellAgents(i int32) {
	m := &w.managers[i]
	if m.cache.version == 0 || m.group != w.api.group && !w.BackAndForth {
		return
	}
	for p := range m.told {
		v := &w.processes[p]
		if v.node == nil || v.boss != int(i) || m.told[p] == m.cache.version ||
			m.reports[p].number != v.number ||
			w.now < v.stranded {
			continue
		}
		m.told[p] = m.cache.version
		after := w.within(w.Lag + 1)
		if w.chance(w.Partial) {
			after = w.within(100 * T)
		}
		if w.calm {
			after = w.within(5 * T)
		}
		w.sendRoster(int32(p), m.cache.version, after)
	}
}

func (w *World) sendRoster(p int32, version int, after Time) {
	v := &w.processes[p]
	v.sent++
	t := w.plan(w.now+after, Looks, rosterTask, p)
	t.slot, t.number, t.value = int32(version), v.number, Time(v.sent)
}

// receiveRoster gives an agent a roster.
func (w *World) receiveRoster(t *task) {
	v := &w.processes[t.p]
	if v.node == nil || v.number != t.number || int64(t.value) < v.read ||
		w.sabotage.leftOut && t.p == 0 {
		return
	}
	if w.now < v.stranded {
		t2 := w.plan(v.stranded+1, Looks, rosterTask, t.p)
		t2.slot, t2.number, t2.value = t.slot, t.number, t.value
		return
	}
	r := w.api.roster(int(t.slot))
	if r.group < v.group && !w.BackAndForth {
		return
	}
	v.group, v.read = r.group, int64(t.value)
	if w.out != nil {
		w.tell("%s is told the roster %s", v.name, r)
	}
	w.step(t.p, &node.Event{Type: node.RosterReceived, Roster: r.node})
}

// report: an agent tells its manager what it is, and which roster it has.
func (w *World) report(p int32) {
	w.plan(w.now+T, Looks, reportTask, p)
	w.reportNow(p)
}

func (w *World) reportNow(p int32) {
	v := &w.processes[p]
	if v.replacedUntil == 0 && (v.node == nil || w.now < v.stranded) {
		return
	}
	if b := &w.managers[v.boss]; v.boss != int(w.leader) &&
		(w.now < b.down || w.now >= b.actsOn || w.rng.IntN(8) == 0) {
		v.boss = int(w.leader)
		w.managers[v.boss].told[p] = 0
	}
	m := &w.managers[v.boss]
	if w.now < m.down {
		return
	}
	if v.replacedUntil != 0 {
		w.reportAnew(p, m)
		return
	}
	r := &m.reports[p]
	if r.at == 0 || r.number != v.number || w.now-r.at >= patience {
		*r = report{since: m.clock(w.now), number: v.number}
		m.told[p] = 0
	}
	if v.asked {
		v.asked, m.told[p] = false, 0
	}
	r.at, r.uid, r.stateID = max(w.now, 1), v.self.UID, v.self.StateID
	if p == w.rogue {
		r.stateID = "" // it is never a voter: a liar that votes is beyond the promise
	}
	view := v.node.View()
	r.group, r.generation, r.rules = w.groupOf(p), view.Acknowledged, v.rules
	r.leaving, r.left = v.leaving, view.Left
	r.coordinator, r.ballotsSpent = "", view.Phase == "BallotsSpent"
	if view.Epoch != 0 {
		r.coordinator = view.Coordinator
	}
	r.follows, r.epoch, r.notCandidate = view.Coordinator, int64(view.Epoch), view.Withdrawn
	if w.Guarded && view.Epoch == 0 || !w.Guarded && view.Electing {
		r.follows = ""
	}
}

// groupOf is the group object of the roster that a process uses; 0: none.
func (w *World) groupOf(p int32) int {
	r := w.processes[p].roster
	if r == nil {
		return 0
	}
	return int(r.Group[0] - 'A' + 1)
}
