package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/node"
)

// managers is how many there are. One leads, and agents connect to it sooner or later. One that has
// been deposed may act on for a while, with a stale cache and the agents that it still has; the
// group's status decides between them.
const managers = 2

// manager runs internal/membership, as controllers/group does.
type manager struct {
	down    Time // until then
	actsOn  Time // until then it does not know that it has been deposed
	rate    int64
	astray  time.Duration // how far its wall clock is ahead of the API server's
	group   int           // the group object that its state is about
	cache   cached        // what it knows of the API
	state   membership.State
	begun   time.Time
	reports []report // by place
	ended   []membership.EndedPod
	pending int   // voter changes that it has yet to make
	told    []int // by place: the version that the agent connected there was told
	leads   Time  // since when it has run; 0: since before the group was made
	above   int64 // the generation that agents use, if the status was set back; else 0
	aboveAt Time  // since when it knows that
	facts   membership.Facts
	rules   int32 // the newest rules level that it supports; 0 is 1
}

// cached is what a manager's cache holds.
type cached struct {
	version   int // of the group's status; 0: none yet
	group     int
	algorithm string
	lease     time.Duration
	settings  string
	pods      []pod
	ended     int // how many ends of pods are known
	stepDown  membership.StepDownRequest
}

// clock is what the manager's clock shows.
func (m *manager) clock(now Time) time.Time {
	elapsed := int64(now)
	return date(0).Add(m.astray + time.Duration(elapsed/right*m.rate+elapsed%right*m.rate/right))
}

// date is what the API server's clock shows.
func date(now Time) time.Time {
	return membership.GenerationsBegin.Add(1000*time.Second + time.Duration(now))
}

func (m *manager) begin(n int) {
	*m = manager{
		rate:    right,
		reports: again(m.reports, n),
		told:    again(m.told, n),
		ended:   m.ended[:0],
		cache:   cached{pods: m.cache.pods[:0]},
		facts:   membership.Facts{Pods: m.facts.Pods[:0], Reports: m.facts.Reports[:0]},
	}
}

// restart forgets what only lives in memory.
func (m *manager) restart(now Time) {
	clear(m.reports)
	clear(m.told)
	m.state, m.group, m.ended, m.pending = membership.State{}, 0, m.ended[:0], 0
	m.cache.ended, m.cache.group, m.cache.version = 0, 0, 0
	m.leads, m.above = max(now, 1), 0
}

// manage is a pass of a manager over the group.
func (w *World) manage(i int32) {
	m := &w.managers[i]
	w.plan(w.now+w.within(2*T), Looks, manageTask, i)
	if w.now < m.down || i != w.leader && w.now >= m.actsOn {
		m.restart(w.now)
		return
	}
	if m.cache.group == 0 || i == w.leader && !w.chance(w.Stale) {
		w.refresh(m)
	}
	if m.group != m.cache.group {
		m.group, m.state, m.begun = m.cache.group, membership.State{}, m.clock(w.now)
	}
	state, d := membership.Step(m.state, w.gather(m))
	m.state, m.pending = state, d.Pending
	w.notice(m, d)
	if d.Roster == nil {
		return
	}
	if d.Persist {
		if m.cache.version != w.api.version || m.cache.group != w.api.group ||
			m.cache.stepDown != w.api.stepDown { // MC1: the group has moved on
			return
		}
		w.persist(m, &d)
		m.state = state.Persisted(d.Roster)
		m.cache.version = w.api.version
		w.tell("manager %d persists a roster (%s): %s", i+1, d.Why, w.api.newest())
	}
	w.tellAgents(i)
}

// refresh brings a manager's cache up to date.
func (w *World) refresh(m *manager) {
	c, a := &m.cache, &w.api
	c.version, c.group, c.algorithm = a.version, a.group, a.algorithm
	c.lease, c.settings = a.lease, a.settings
	c.pods, c.stepDown = append(c.pods[:0], a.pods...), a.stepDown
	for ; c.ended < len(a.ended); c.ended++ {
		m.ended = append(m.ended, membership.EndedPod{UID: a.ended[c.ended], At: m.clock(w.now)})
	}
}

// gather puts together what a manager knows.
func (w *World) gather(m *manager) *membership.Facts {
	f := &m.facts
	*f = membership.Facts{
		Now:         m.clock(w.now),
		Date:        date(w.now),
		ClockAgrees: m.astray == 0,
		Guarded:     w.Guarded,
		Lease:       m.cache.lease,
		Settings:    m.cache.settings,
		Delayed:     w.Preemption == lease.Delayed,
		Pods:        f.Pods[:0],
		Reports:     f.Reports[:0],
		Ended:       m.ended,
		Begun:       m.begun,
		Rules:       m.rules,
		Inherited:   m.leads > w.api.made,
	}
	w.adopt(m, f)
	if r := w.api.roster(m.cache.version); r != nil && r.group == m.group {
		f.Roster = r.members
	}
	w.forgetReplaced(f)
	for p := range m.cache.pods {
		q := &m.cache.pods[p]
		if !q.there {
			continue
		}
		pod := membership.Pod{
			Name:     names[p],
			UID:      uidOf(int32(p), q.uid),
			Priority: q.priority,
			Witness:  q.witness,
			Created:  date(q.made).Unix(),
		}
		if q.deleting != 0 {
			pod.DeletionBegan = m.clock(q.deleting)
			pod.DeletionDue = pod.DeletionBegan.Add(time.Duration(q.grace))
		}
		f.Pods = append(f.Pods, pod)
	}
	for p := range m.reports {
		if r := &m.reports[p]; r.at > 0 {
			f.Reports = append(f.Reports, r.asFact(w.now, m.group))
		}
	}
	if f.StepDown = m.cache.stepDown; f.StepDown.ID != "" {
		f.Coordinator = w.coordinator(m, f)
		w.mistake(f)
	}
	return f
}

// persist writes a roster into the group's status.
func (w *World) persist(m *manager, d *membership.Decision) {
	r := d.Roster
	w.Rosters++
	w.checkNextLevel(m, r)
	w.checkStepDown(r)
	n := &node.Roster{
		Group:        groups[w.api.group],
		Generation:   r.Generation,
		Algorithm:    m.cache.algorithm,
		Guarded:      w.Guarded,
		Heartbeat:    time.Duration(heartbeat),
		Timeout:      time.Duration(mostTimeout),
		Lease:        m.cache.lease,
		LeaseMinimum: w.Shortest,
		Preemption:   w.Preemption,
		Stable:       w.Stable,
		Rules:        r.Rules,
		Members:      make([]lease.Member, len(r.Members)),
	}
	if d.Forming {
		n.Preemption = lease.Always
	}
	for i := range r.Members {
		q := &r.Members[i]
		n.Members[i] = lease.Member{
			Name:     q.Name,
			UID:      q.UID,
			StateID:  q.StateID,
			Priority: q.Priority,
			Voter:    q.Voter,
			Created:  q.Created,
			Grace:    q.Grace,
		}
	}
	if w.sabotage.hasty {
		w.hasten(m, n.Members)
	}
	if w.sabotage.unmark {
		w.unmark(m, r, n.Members)
	}
	w.checkWitnesses(m, n.Members)
	w.api.rosters = append(w.api.rosters, roster{
		group:   w.api.group,
		members: r,
		node:    n,
	})
	w.api.version = len(w.api.rosters)
	w.oracle().rosters[r.Generation] = n
}
