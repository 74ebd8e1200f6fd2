package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// counterexamples are the hazards that no classic election can avoid, each in a run as small as it
// can be.
func counterexamples() []Counterexample {
	return slices.Concat(timing(), partitions(), sleepers(), ringHazards(), tableHazards())
}

// timing are hazards of messages that are slow.
func timing() []Counterexample {
	b1 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(4), Coordinator: "P4", Crashed: names(4), Initiators: names(2),
		Carry: slow(8*unit, func(from, to string, m election.Message) bool {
			return from == "P3" && to == "P2" && m.Kind == election.OK
		}),
	}
	b2 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(3), Coordinator: "P2", Crashed: names(3), Faults: []scenario.Fault{fault(2, scenario.Recover, 3)},
		Carry: slow(5*unit, func(from, to string, _ election.Message) bool { return from == "P3" && to == "P2" }),
	}
	return []Counterexample{{
		ID: "B1", Title: "A slow OK is taken for a crash",
		Assumes: "whoever lives answers within T.",
		Story: "P4, the coordinator, has crashed, and P2 calls an election. P3 lives and answers OK at once, but that message takes eight link delays instead of one: " +
			"a full queue, a retransmission. P2 waits T, hears nothing, and concludes that everybody above it has failed. It announces itself. P3 finds nobody above it, either, and announces itself, too; to P2 " +
			"that announcement comes behind the slow OK, because a link keeps its order.",
		Lesson: "A process that waits cannot tell a slow process from a dead one. A longer T makes this rarer and every election slower; no T makes it impossible.",
		Play:   b1, Calm: 12 * unit, Shows: twoCoordinators(b1, "P2", "P3", 12*unit), Ends: "P3",
	}, {
		ID: "B2", Title: "The highest recovers and takes over before the old coordinator hears of it",
		Assumes: "an announcement reaches everybody at once.",
		Story: "P2 coordinates, P3 is down. P3 recovers. It knows itself highest, so it asks nobody: it coordinates from the moment in which it sends its announcement (seed 001: \"even though the current " +
			"coordinator is functioning\"). P2 goes on until that message arrives; here the link is slow and that takes five link delays.",
		Lesson: "This happens at every such recovery, for as long as a message takes. Bully has no hand-over: the new one does not wait for the old one to stop.",
		Play:   b2, Calm: 7 * unit, Shows: twoCoordinators(b2, "P2", "P3", 7*unit), Ends: "P3",
	}}
}

// partitions are hazards of networks on which not everybody reaches everybody.
func partitions() []Counterexample {
	b6 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(5), Coordinator: "P5", Detect: true, Faults: []scenario.Fault{
			cut(1, scenario.Cut, []int{1, 2, 3}, []int{4, 5}), fault(16, scenario.Heal)},
	}
	b6ring := b6
	b6ring.Algorithm = "ChangRoberts"
	b6link := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(5), Coordinator: "P5", Detect: true,
		Faults: []scenario.Fault{
			cut(1, scenario.Cut, []int{1, 2, 3, 4}, []int{1, 2, 3, 5}), fault(16, scenario.Heal),
		},
	}
	b7 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(3), Coordinator: "P3", Detect: true, Faults: []scenario.Fault{
			cut(1, scenario.OneWay, []int{3}, []int{2}), fault(16, scenario.Heal)},
	}
	b8 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(3), Coordinator: "P3", Detect: true, Faults: []scenario.Fault{
			cut(1, scenario.Cut, []int{1, 2}, []int{2, 3}), fault(24, scenario.Heal)},
	}
	return []Counterexample{{
		ID: "B6", Title: "A clean partition: one coordinator a side",
		Assumes: "a process that does not answer has failed.",
		Story: "P5 coordinates. The network is cut: P1, P2 and P3 on one side, P4 and P5 on the other. To P1, P2 and P3, P4 and P5 are silent, so they have failed, and P3 is elected. P5 never learns that anybody " +
			"misses it. Nothing is slow, nothing has crashed, and both elections are correct by the book.",
		Lesson: "Each side is right as far as it can see. Only a rule that needs a majority can keep one of them from acting. When the network heals, processes tell whom they follow (VIEW), and " +
			"whoever hears of two coordinators calls an election.",
		Play: b6, Calm: 16 * unit, Shows: twoCoordinators(b6, "P5", "P3", 16*unit), Ends: "P5",
	}, {
		ID: "B6-ring", Title: "The same partition on a ring: the ring closes twice",
		Assumes: "a process that does not answer has failed, and is skipped.",
		Story:   "As B6, with ChangRoberts. P3 does not reach its successor P4 any more, skips P4 and P5, and sends to P1: three processes are a ring of their own. P5 skips P1, P2 and P3 in the same way.",
		Lesson:  "Skipping faulty successors keeps a ring alive, and lets it close over a cut.",
		Play:    b6ring, Calm: 16 * unit, Shows: twoCoordinators(b6ring, "P5", "P3", 16*unit), Ends: "P5",
	}, {
		ID: "B6-link", Title: "Two coordinators do not need two sides",
		Assumes: "every process can reach every other.",
		Story: "P5 coordinates. Only the link between P4 and P5 is cut; everybody else reaches " +
			"everybody. P4 misses P5, finds nobody else above it and announces itself to P1, P2 " +
			"and P3, who follow it: it announced itself last. Nobody asks P5 any more, so P5 " +
			"learns nothing, and goes on.",
		Lesson: "Three processes reach both, and it does not help: a process follows one " +
			"coordinator and tells nobody of it unasked. Every algorithm does this, the rings, " +
			"too (TestOneLinkCut). A majority could not have followed both: that is what a lease adds.",
		Play: b6link, Calm: 16 * unit, Ends: "P5",
		Shows: twoCoordinators(b6link, "P5", "P4", 16*unit),
	}, {
		ID: "B7", Title: "A one-way link: the highest hears, and is not heard",
		Assumes: "if P can send to Q, then Q can send to P.",
		Story: "P3 coordinates. From time 1 on nothing that P3 sends reaches P2; everything else works. P2 misses P3 and asks it. P3 hears that, answers, and repeats that it coordinates: both lost. " +
			"P2 hears nothing from above (its failure detector has waited T already), elects itself, and tells P1. P3 sees no reason to stop.",
		Lesson: "P1 follows whoever spoke last. As long as the link is one-way, no number of elections settles it: P3 wins each, and P2 never hears.",
		Play:   b7, Calm: 16 * unit, Shows: twoCoordinators(b7, "P3", "P2", 16*unit), Ends: "P3",
	}, {
		ID: "B8", Title: "A bridge: who cannot reach the coordinator elects for ever",
		Assumes: "everybody can reach everybody.",
		Story: "P2 reaches both P1 and P3, but P1 and P3 do not reach each other. P1 misses its coordinator P3 and calls an election. P2 answers OK, asks P3, and P3, alive and highest, wins again: P2 is content. " +
			"P3's announcement cannot reach P1. So P1 waits T' for it, begins anew, and so on.",
		Lesson: "There is one coordinator, and P1 never finds it. The election cannot tell P1 about somebody whom it cannot hear.",
		Play:   b8, Calm: 24 * unit, Shows: electsForEver("P1", 24*unit), Ends: "P3",
	}}
}

// sleepers are hazards of processes that stop and go on.
func sleepers() []Counterexample {
	b10 := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(4), Coordinator: "P4", Detect: true, Faults: []scenario.Fault{
			fault(1, scenario.Pause, 4), fault(14, scenario.Resume, 4)},
	}
	b9 := scenario.Scenario{Algorithm: "Bully", Processes: roster(3), Coordinator: "P3", Detect: true}
	for i := range scenario.Time(3) {
		b9.Faults = append(b9.Faults, fault(1+12*i, scenario.Crash, 3), fault(9+12*i, scenario.Recover, 3))
	}
	return []Counterexample{{
		ID: "B10", Title: "A paused coordinator acts before it reads its mail",
		Assumes: "a process that does not answer has failed, and one that has failed knows it when it is back.",
		Story: "P4 coordinates, and stops: a long garbage collection, a suspended virtual machine, a debugger. The others miss it and elect P3. Then P4 goes on where it stopped. It does not know that any time has passed. " +
			"Until it has read its mail it takes itself for the coordinator, and acts as one, with whatever it was about to write when it stopped.",
		Lesson: "No message can reach a process that is stopped, so no algorithm can warn it. What it writes must be refused by whoever receives it: that takes a number that only grows, and that the receiver checks (fencing).",
		Play:   b10, Calm: 14 * unit, Shows: twoCoordinators(b10, "P4", "P3", 15*unit), Ends: "P4",
	}, {
		ID: "B9", Title: "A flapping highest process demotes everybody, every time",
		Assumes: "failures are rare.",
		Story:   "P3 crashes, recovers, crashes, recovers. Each time it is the highest live process, so it takes over from P2, which did its work well; each time its crash leaves the group without a coordinator for a while.",
		Lesson:  "Bully's promise, the highest live process coordinates, is the trouble: it hands the work to the least reliable process as long as that is the highest.",
		Play:    b9, Calm: 33 * unit, Shows: changesOf(b9, 6), Ends: "P3",
	}}
}

// ringHazards are hazards of rings.
func ringHazards() []Counterexample {
	r6 := scenario.Scenario{
		Algorithm: "ChangRoberts", Processes: roster(4), Coordinator: "P4", Detect: true,
		Faults: []scenario.Fault{fault(1, scenario.Misjudge, 4, 1, 2), fault(1, scenario.Misjudge, 2, 3, 4)},
	}
	for _, pair := range [][2]int{{2, 3}, {2, 4}, {4, 1}, {4, 2}} {
		r6.Faults = append(r6.Faults, fault(12, scenario.Relink, pair[0], pair[1]))
	}
	r9 := scenario.Scenario{
		Algorithm: "RingList", Processes: roster(4), Coordinator: "P4", Crashed: names(4), Initiators: names(1), Detect: true,
		Faults: []scenario.Fault{{At: 2*unit + unit/2, Kind: scenario.Crash, Processes: names(3)}},
	}
	return []Counterexample{{
		ID: "R6", Title: "Two disjoint sub-rings, and not one message lost",
		Assumes: "only faulty processes are skipped.",
		Story: "P4 coordinates, and all links work. For a moment P2 holds P3 and P4 for gone, and P4 holds P1 and P2 for gone (their connections were refused while a firewall was reloaded). So P2 sends to P1, which sends to P2: a ring. " +
			"P4 sends to P3, which sends to P4: another. P2 misses its coordinator, its ELECT ME comes round, and it is elected by everybody it has heard of.",
		Lesson: "The ring is what its members believe it to be. Two wrong beliefs, and it closes twice; every message arrives.",
		Play:   r6, Calm: 12 * unit, Shows: withoutLoss(twoCoordinators(r6, "P4", "P2", 12*unit)), Ends: "P4",
	}, {
		ID: "R9", Title: "The winner is dead when it is announced",
		Assumes: "failures do not occur during an election (seed 000).",
		Story:   "P4 has crashed, and P1's ELECTION goes round. P3 adds its number to the list and crashes before it has come back to P1. The list says that P3 is the highest live process, and so it is announced.",
		Lesson:  "A list of the living is old when it is complete. The group follows a dead process until its failure detectors find out; then it elects again.",
		Play:    r9, Calm: 3 * unit, Shows: followedWhileDead("P3"), Ends: "P2",
	}}
}

// tableHazards are hazards of the process status table.
func tableHazards() []Counterexample {
	m2 := scenario.Scenario{
		Algorithm: "StatusTableBully", Processes: roster(5), Coordinator: "P5", Crashed: names(4, 5), Initiators: names(3), Detect: true,
		Faults: []scenario.Fault{fault(8, scenario.Recover, 5), fault(14, scenario.Recover, 4), fault(20, scenario.Crash, 5)},
		Carry: losing(func(from, to string, m election.Message) bool {
			return from == "P4" && to == "P3" && m.Kind == election.Update
		}),
	}
	return []Counterexample{{
		ID: "M2", Title: "Two tables that differ choose two coordinators, with no message at all",
		Assumes: "no message is lost, so that every process status table tells the truth (seed 004, communication assumption 1).",
		Story: "P4 and P5 are down; P3 asks P4, waits T in vain, notes P4 as CRASHED and coordinates. P5 recovers and takes over; then P4 recovers and sends UPDATE to all. The one to P3 is lost. When P5 crashes, P3 reads in its table that P4 " +
			"and P5 have crashed. Nobody is left above it, so by the seed's best case (5.1.2) it asks nobody and takes charge. P4, in the same instant, does the same, and is right.",
		Lesson: "The status table saves the question \"are you there?\", which is what would have told P3 the truth.",
		Play:   m2, Calm: 24 * unit, Shows: twoCoordinators(m2, "P3", "P4", 24*unit), Ends: "P4",
	}}
}

// electsForEver checks that a process calls one election after the other until calm, and has no
// coordinator meanwhile.
func electsForEver(process string, calm scenario.Time) func(scenario.Result) (string, error) {
	return func(r scenario.Result) (string, error) {
		called := map[election.ID]bool{}
		for _, e := range r.Events {
			switch {
			case e.At > calm:
			case e.Kind == scenario.Sent && e.Process == process && e.Message.Election.Initiator == process:
				called[e.Message.Election] = true
			case e.Kind == scenario.Follows && e.Process == process:
				return "", fmt.Errorf("%s follows %s at %s", process, e.Peer, units(e.At))
			}
		}
		if len(called) < 3 {
			return "", fmt.Errorf("%s calls %d elections only", process, len(called))
		}
		return fmt.Sprintf("%s calls %d elections until the network heals, and finds no coordinator.", process, len(called)), nil
	}
}

// changesOf checks how often the coordinator changes.
func changesOf(s scenario.Scenario, want int) func(scenario.Result) (string, error) {
	return func(r scenario.Result) (string, error) {
		all := reigns(s, r)
		if len(all)-1 != want {
			return "", fmt.Errorf("the coordinator changes %d times, not %d: %v", len(all)-1, want, all)
		}
		return fmt.Sprintf("The coordinator changes %d times, though P1 and P2 never failed.", want), nil
	}
}

// withoutLoss checks besides that no message was lost.
func withoutLoss(shows func(scenario.Result) (string, error)) func(scenario.Result) (string, error) {
	return func(r scenario.Result) (string, error) {
		if i := slices.IndexFunc(r.Events, func(e scenario.Event) bool { return e.Kind == scenario.Lost }); i >= 0 {
			return "", fmt.Errorf("a message is lost: %v", r.Events[i])
		}
		return shows(r)
	}
}

// followedWhileDead checks that somebody takes a process for the coordinator that is down already.
func followedWhileDead(process string) func(scenario.Result) (string, error) {
	return func(r scenario.Result) (string, error) {
		dead := false
		var followers []string
		for _, e := range r.Events {
			switch {
			case e.Kind == scenario.HasFailed && e.Process == process:
				dead = true
			case dead && e.Kind == scenario.Follows && e.Peer == process && !slices.Contains(followers, e.Process):
				followers = append(followers, e.Process)
			}
		}
		if len(followers) == 0 {
			return "", fmt.Errorf("nobody follows %s after its death", process)
		}
		return fmt.Sprintf("%s take %s for the coordinator, which is dead.", strings.Join(followers, " and "), process), nil
	}
}
