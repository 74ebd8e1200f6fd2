package membership

// MC11: Rules level. A roster names the rules level in force: a number for the rules by which its
// voters promise and a manager changes them (Rules in internal/lease). A build supports its newest
// level and the one below it. An agent does not use a roster of a level that it does not support:
// it stays with the one that it has, as if it had not heard. So all voters that use a generation
// use it by the same rules.
//
//   - The first voters get the lowest of the manager's newest level and those of all processes that
//     have joined, but none that the manager does not support.
//   - Later the level goes up, or down, by one, towards the lowest of the manager's newest level
//     and those of all voters that report and all processes that have joined. It does so only if
//     the manager supports the next one, and every voter reports that it does.
//   - It changes as voters do: when a majority has acknowledged the last change of voters or level,
//     and two longest leases have passed (MC4). Voters and level never change together.
//   - A process that does not support the level in force does not become a voter.
//   - A manager that does not support the level in force makes no roster at all, and tells the
//     agents nothing. They keep the one that they have.
//
// Why it is enough: a majority under one level and a majority under the next share a voter (MC3),
// and its build knows both levels: it keeps under one what it promised under the other. A third
// level, or a voter that knows one of the two only, comes when no promise of before the last change
// runs any more (MC4). Nothing in this tells up from down.
//
// What is not promised: that a group whose agents are replaced by older ones has a coordinator
// while its manager does not support the level in force; nor that the level is lowered if most of
// the voters are started again as an older release in their own pods: they acknowledge nothing more
// (MC4).

// level returns a rules level as it counts: 0 is what those say who know of none.
func level(rules int32) int32 { return max(rules, 1) }

// supports reports whether a build with this newest rules level supports a level. It is the same as
// lease.Supports.
func supports(newest, of int32) bool {
	newest, of = level(newest), level(of)
	return of == newest || of == newest-1
}

// findLevel finds the level in force, and who has joined and supports it.
func (g *group) findLevel() {
	g.lowest = level(g.Rules)
	for i := range g.voters {
		if g.voters[i].reports() {
			g.lowest = min(g.lowest, level(g.voters[i].report.Rules))
		}
	}
	for i := range g.joined {
		g.lowest = min(g.lowest, level(g.joined[i].report.Rules))
	}
	switch {
	case g.roster != nil && len(g.voters)+len(g.joined) == 0, len(g.voters) > 0:
		g.level = level(g.roster.Rules)
	default:
		g.level = max(g.lowest, level(g.Rules)-1)
	}
	able := g.joined[:0]
	for i := range g.joined {
		if supports(g.joined[i].report.Rules, g.level) {
			able = append(able, g.joined[i])
		}
	}
	g.joined = able
}

// nextLevel returns the level that is to be in force next: that in force, or the one above or
// below.
func (g *group) nextLevel() int32 {
	next := g.level
	switch {
	case len(g.voters) == 0:
		return g.level
	case g.lowest > g.level:
		next++
	case g.lowest < g.level:
		next--
	}
	for i := range g.voters {
		if v := &g.voters[i]; !v.reports() || !supports(v.report.Rules, next) {
			return g.level
		}
	}
	if !supports(g.Rules, next) {
		return g.level
	}
	return next
}
