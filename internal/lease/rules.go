package lease

import "fmt"

// Rules is the newest rules level that this build supports. A rules level numbers the rules by
// which voters promise, and by which a manager changes them: two levels may differ in anything of
// one voter that another relies on, or a manager. It goes up by one when such a rule changes, and
// never otherwise. A build supports its newest level and the one below it, and goes from one to the
// other while promises run: it keeps what it promised under the other one.
//
// Who decides which level is in force: MC11 in internal/membership.
const Rules = 1

// Level returns a rules level as it counts: 0 is what those say who know of no levels, and counts
// as 1.
func Level(rules int32) int32 { return max(rules, 1) }

// Supports reports whether a build with this newest rules level supports a level.
func Supports(newest, level int32) bool {
	newest, level = Level(newest), Level(level)
	return level == newest || level == newest-1
}

// RulesError is why a process cannot use a roster: it does not support the rules level in force.
type RulesError struct {
	Level  int32 // in force
	Newest int32 // that this process supports
}

func (e *RulesError) Error() string {
	if e.Level > e.Newest {
		return fmt.Sprintf("the roster is of rules level %d, and this agent supports at most %d: "+
			"until the pod has an agent as new as the others of its group, "+
			"it does not vote under this roster",
			e.Level, e.Newest)
	}
	return fmt.Sprintf("the roster is of rules level %d, and this agent supports no level below %d: "+
		"until the pod has an agent of an older release, it does not vote under this roster. Upgrade "+
		"one release at a time", e.Level, e.Newest-1)
}
