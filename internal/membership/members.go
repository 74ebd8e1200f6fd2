package membership

import (
	"slices"
	"time"
)

// classicMembers returns the members of a Classic group: all live pods. A member is marked as a
// voter when its agent has joined, now or under an earlier manager. Its state directory is recorded
// once: nothing depends on it there, and one that changes makes no new roster.
func classicMembers(g *group) []Member {
	members := make([]Member, 0, len(g.Pods))
	for i := range g.Pods {
		pod := &g.Pods[i]
		if pod.Finished {
			continue
		}
		m := Member{
			Name:    pod.Name,
			UID:     pod.UID,
			Witness: pod.Witness,
		}
		if earlier := g.roster.member(pod.UID); earlier != nil && earlier.Voter {
			m.StateID, m.Voter = earlier.StateID, true
		} else if r := g.report(pod.UID); r != nil {
			m.StateID, m.Voter = r.StateID, true
		}
		if m.Voter {
			m.Label = pod.Label
		}
		members = append(members, m)
	}
	return members
}

// guardedMembers returns the members of a Guarded group: the voters, whatever has become of their
// pods, and all other live pods, as far as no voter has their name and there is room. Since when a
// pod is gone stays on record also when the voter's end is known, which may be for that very
// reason: the next manager has nothing else to know it from.
func guardedMembers(g *group, voters []voter) []Member {
	members := make([]Member, 0, max(len(g.Pods), len(voters)))
	for i := range voters {
		v := &voters[i]
		m := *v.Member
		gone := v.pod == nil && (v.end.at.IsZero() || !m.GoneSince.IsZero())
		if !gone || g.ClockAgrees {
			m.GoneSince = heldSince(gone, m.GoneSince, g.Now.Truncate(time.Second))
		}
		m.Forgotten = v.confirmed(g.roster, g.Facts)
		m.Replaced = v.replaced()
		if v.pod != nil {
			m.Witness, m.Label = m.Witness || v.pod.Witness, v.pod.Label
		}
		members = append(members, m)
	}
	for i := range g.Pods {
		pod := &g.Pods[i]
		if !pod.Finished && len(members) < MaxMembers && !hasName(members[:len(voters)], pod.Name) {
			members = append(members, Member{
				Name:    pod.Name,
				UID:     pod.UID,
				Witness: pod.Witness,
			})
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return CompareNames(a.Name, b.Name) })
	return members
}

func hasName(members []Member, name string) bool {
	for i := range members {
		if members[i].Name == name {
			return true
		}
	}
	return false
}

// member returns the member of that UID, which no other pod has; nil if there is none.
func (r *Roster) member(uid string) *Member {
	if r == nil {
		return nil
	}
	for i := range r.Members {
		if r.Members[i].UID == uid {
			return &r.Members[i]
		}
	}
	return nil
}
