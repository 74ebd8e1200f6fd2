package conformance

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

func bully000() Claim {
	return Claim{
		Section: bullySection,
		Quote:   `A process Pi that initiates an election sends an ("elect me", Pi) message to all higher-priority processes […] sends a ("new coordinator", Pi) message to all lower-priority processes`,
		Reading: "Bully, ten processes, every initiator Pi. P10 lives, or it has crashed and Pi has missed it. The message is called ELECTION, as seeds 001 to 004 call it.",
		Measure: func(f *Finding) {
			f.columns("initiator", "its ELECTIONs, P10 lives: 10−i", "P10 missed: 9−i", "then P9's COORDINATORs, 8")
			asked := func(r scenario.Result, i int) int {
				return count(r, func(e scenario.Event) bool { return e.Message.Kind == election.Election && e.Process == name(i) })
			}
			for i := 1; i <= 9; i++ {
				lives := asked(f.notices("Bully", 10, i), i)
				r := f.afterCrash("Bully", 10, i)
				told := count(r, func(e scenario.Event) bool { return e.Message.Kind == election.Coordinator && e.Process == "P9" })
				f.row(name(i), compare(f, lives, 10-i), compare(f, asked(r, i), 9-i), compare(f, told, 8))
			}
		},
		Call:       "--processes 10 --crashed 10 --initiator 9",
		Convention: "The coordinator that Pi has just missed, and has no open link to, is not asked again. So it is in the example of 002, and in the figures of 004.",
	}
}
