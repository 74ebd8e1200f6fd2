// Package sim runs groups of processes as they ship, under faults, in virtual time: internal/node
// Nodes with their ledgers and state directories, and managers that call internal/membership. One
// scheduler (Queue), one seed: the same Options give the same run.
//
//	err := sim.NewWorld().Run(sim.DrawGuarded("Bully", 4711)) // chaos, then calm; a *Failure
//
// A World carries out what a Ready says, in the order that package node asks for, and breaks what
// lies outside: links, disks, clocks, apps, managers' caches, pods. Invariants are a file each,
// named for them: g1_one_acts.go to g13_bounds.go after every event, l1_l7_led.go and
// l2_l6_agree.go in the end; t16_levels.go, t17_step_down.go and t19_witnesses.go are of single
// hazards. (G14, the same seed gives the same run, is a test.)
//
// What is not promised: that links, disks and the API server behave as these do; that is what the
// tests of internal/agent and the end-to-end tests are for. Not safe for concurrent use.
package sim
