package membership

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
		m := Member{Name: pod.Name, UID: pod.UID, Witness: pod.Witness}
		if earlier := g.roster.member(pod.Name, pod.UID); earlier != nil && earlier.Voter {
			m.StateID, m.Voter = earlier.StateID, true
		} else if r := g.report(pod.UID); r != nil {
			m.StateID, m.Voter = r.StateID, true
		}
		members = append(members, m)
	}
	return members
}

// member returns the member of that name and UID; nil if there is none.
func (r *Roster) member(name, uid string) *Member {
	if r == nil {
		return nil
	}
	for i := range r.Members {
		if r.Members[i].Name == name && r.Members[i].UID == uid {
			return &r.Members[i]
		}
	}
	return nil
}
