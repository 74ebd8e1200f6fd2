package electiontest

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// The steps of a roster, as a simulated manager makes them.

// next is the roster that follows, if any does.
func (s *Simulator) next(m *manager, known *roster) (roster, bool) {
	founding := voters(known.lease.Members) == 0
	quiet := s.acknowledged(m, known)
	members, order, changed := s.desired(m, known)
	switch {
	case founding:
		changed = s.found(m, members) || changed
	case quiet:
		changed = s.change(m, &members, &order) || changed
	}
	if len(members) == 0 || !changed && !s.world.edited {
		return roster{}, false
	}
	members = slices.Clone(members)
	r := &lease.Roster{Group: s.group(), Generation: max(known.lease.Generation+1, s.clockGeneration()), Lease: s.world.lease,
		Heartbeat: known.lease.Heartbeat, Timeout: known.lease.Timeout, Preemption: known.lease.Preemption, Stable: known.lease.Stable, Members: members}
	return roster{processes: processesOf(members), algorithm: s.world.runs, lease: r}, true
}

// processesOf is how the election machine knows the members.
func processesOf(members []lease.Member) []election.Process {
	processes := make([]election.Process, len(members))
	for i, q := range members {
		processes[i] = election.Process{Name: q.Name, Priority: q.Priority, UID: q.UID}
	}
	return processes
}

// clockGeneration is the seconds of the manager's clock.
func (s *Simulator) clockGeneration() int64 { return 1000 + int64(s.now/1000) }

// desired is what the roster should say with the voters of the one before.
func (s *Simulator) desired(m *manager, known *roster) (members []lease.Member, order []int32, changed bool) {
	members, order = s.draft[:0], s.order[:0]
	defer func() { s.draft, s.order = members, order }()
	for _, p := range s.world.ring {
		pod, name := &s.world.pods[p], s.nodes[p].name
		i := place(known.processes, name)
		if i >= 0 && known.lease.Members[i].Voter { // the voter stays until a step removes it
			q := known.lease.Members[i]
			if q.UID == uids[pod.uid] && q.Priority != pod.priority && pod.there {
				q.Priority = pod.priority
			}
			members, order = append(members, q), append(order, p)
			continue
		}
		if !pod.there {
			continue
		}
		q := lease.Member{Name: name, UID: uids[pod.uid], Priority: pod.priority}
		if r := &m.reports[p]; r.at > 0 && r.uid == pod.uid {
			q.StateID = memory(name, r.memory)
		} else if i >= 0 && known.lease.Members[i].UID == q.UID {
			q.StateID = known.lease.Members[i].StateID
		}
		members, order = append(members, q), append(order, p)
	}
	return members, order, known.lease == nil || !slices.Equal(members, known.lease.Members)
}

// found is R2: the first voters may be any.
func (s *Simulator) found(m *manager, members []lease.Member) bool {
	if m.founded == 0 {
		m.founded = s.now
	}
	joined := 0
	for _, q := range members {
		if q.StateID != "" {
			joined++
		}
	}
	if joined == 0 || joined < len(members) && s.now-m.founded < 3000 {
		return false
	}
	for i := range members {
		members[i].Voter = members[i].StateID != "" && seat(members[i].Name) != s.rogue // a liar that votes is beyond the promise
	}
	m.founded = 0
	return true
}

// change makes the one step that R3 to R6 allow now: those who are known to have ended go first, all at once; then a voter that is
// missing; then a newcomer comes.
func (s *Simulator) change(m *manager, members *[]lease.Member, order *[]int32) bool {
	removed := false
	lately := s.now - Time(s.longest()*11/9*right/time.Duration(m.rate)/time.Millisecond) - 1
	for i := range *members {
		q := &(*members)[i]
		if q.Voter && lately > 0 && s.ended(m, q, lately) && voters(*members) > 1 {
			q.Voter, removed = false, true
		}
	}
	for i := 0; i < len(*members) && !removed; i++ {
		q := &(*members)[i]
		pod := &s.world.pods[(*order)[i]]
		if q.Voter && (!pod.there || uids[pod.uid] != q.UID) && !s.ended(m, q, 0) && s.remain(m, *members, i) {
			q.Voter, removed = false, true
		}
	}
	if removed {
		s.settleMembers(m, members, order)
		return true
	}
	for i := range *members {
		q := &(*members)[i]
		r := &m.reports[(*order)[i]]
		if !q.Voter && (*order)[i] != s.rogue && q.StateID != "" && r.at > 0 && s.now-r.at < 5*T && memory(q.Name, r.memory) == q.StateID && uids[r.uid] == q.UID {
			q.Voter = true
			return true
		}
	}
	return false
}

func voters(members []lease.Member) (n int) {
	for i := range members {
		if members[i].Voter {
			n++
		}
	}
	return n
}

// remain reports whether the voters but one have a majority connected (R6).
func (s *Simulator) remain(m *manager, members []lease.Member, but int) bool {
	voters, connected := 0, 0
	for i, q := range members {
		if !q.Voter || i == but {
			continue
		}
		voters++
		r := &m.reports[seat(q.Name)]
		if r.at > 0 && s.now-r.at < 5*T && memory(q.Name, r.memory) == q.StateID && uids[r.uid] == q.UID {
			connected++
		}
	}
	return voters > 0 && connected >= voters/2+1
}

// settleMembers brings the members that are voters no more up to date with their pods.
func (s *Simulator) settleMembers(m *manager, members *[]lease.Member, order *[]int32) {
	kept, places := (*members)[:0], (*order)[:0]
	for i, q := range *members {
		p := (*order)[i]
		pod := &s.world.pods[p]
		if !q.Voter {
			if !pod.there {
				continue
			}
			q.UID, q.Priority, q.StateID = uids[pod.uid], pod.priority, ""
			if r := &m.reports[p]; r.at > 0 && r.uid == pod.uid {
				q.StateID = memory(q.Name, r.memory)
			}
		}
		kept, places = append(kept, q), append(places, p)
	}
	*members, *order = kept, places
}

func describe(r *lease.Roster) string {
	b := []byte(r.Group)
	b = append(b, ' ')
	b = append(b, lease.NewEpoch(r.Generation, 0).String()...)
	b = append(b, " lease "...)
	b = append(b, r.Lease.String()...)
	for _, q := range r.Members {
		b = append(b, ' ')
		b = append(b, q.Name...)
		b = append(b, '=')
		b = append(b, byte('0'+q.Priority%10))
		if q.Voter {
			b = append(b, '*')
		}
		b = append(b, q.StateID...)
		b = append(b, ' ')
		b = append(b, q.UID...)
	}
	return string(b)
}
