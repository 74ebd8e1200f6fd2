package membership

import "time"

// MC14: Ballots. A generation whose ballots are used up is followed by the next one. (It has 2²⁰ of
// them: an epoch is generation·2²⁰ + ballot, and candidates count on from the highest one, C3 in
// internal/lease.)
//
// A member with a priority must report so of the newest generation; reports of an older one do not
// count, so one generation that is used up makes one. Nor does a report count while a majority
// follows somebody: nobody waits for a ballot then, and a liar would change the leaseholder's epoch
// again and again. For the sake of such liars a generation lasts for two longest leases and 2 s at
// least.

// ballotsSpent reports whether the next generation is due (MC14), and how long that takes if time
// alone is missing.
func ballotsSpent(g *group, longest time.Duration) (spent bool, again time.Duration) {
	if g.roster == nil || !g.asksForBallots() || g.majorityFollows() {
		return false, 0
	}
	made := GenerationsBegin.Add(time.Duration(g.roster.Generation) * time.Second)
	return elapsed(made, max(2*longest, 2*time.Second), g.date())
}

func (g *group) asksForBallots() bool {
	for i := range g.Reports {
		r := &g.Reports[i]
		if !r.Connected || !r.BallotsSpent || r.OtherGroup ||
			r.Generation != g.roster.Generation || g.roster.member(r.UID) == nil {
			continue
		}
		if pod := g.pod(r.UID); pod != nil && pod.Priority > 0 {
			return true
		}
	}
	return false
}

// majorityFollows reports whether a majority of the voters report that they follow the same
// process.
func (g *group) majorityFollows() bool {
	epochs := map[string][]int64{}
	for i := range g.voters {
		if v := &g.voters[i]; v.reports() && v.report.Coordinator != "" {
			epochs[v.report.Coordinator] = append(epochs[v.report.Coordinator], 0)
		}
	}
	name, _ := Followed(len(g.voters), epochs)
	return name != ""
}
