package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// broken is something that is broken on purpose, and the invariant that finds it.
type broken struct {
	name    string
	finds   string
	says    string // what the failure says, where an invariant has several checks
	classic bool
	breaks  func(w *World) // nil: the options do
	o       func(o *Options)
}

var brokenOnPurpose = []broken{
	{
		name:   "an app that acts 10 T after its deadline",
		finds:  "G1",
		breaks: func(w *World) { w.sabotage.overstay = 10 * T },
		o:      func(o *Options) { o.Crash, o.Cut = 5, 5 },
	},
	{
		name:   "a permission that is not revoked",
		finds:  "G1",
		breaks: func(w *World) { w.sabotage.keepPermission = true },
		o:      sicken,
	},
	{
		name:   "an epoch that is held twice",
		finds:  "G2",
		breaks: permits(takesUsedEpoch),
	},
	{
		name:   "a voter that forgets what it has promised",
		finds:  "G2",
		says:   "promises",
		breaks: func(w *World) { w.sabotage.forgetState = true },
		o:      func(o *Options) { o.Crash = 5 },
	},
	{
		name:   "an epoch below the highest that was held",
		finds:  "G3",
		breaks: permits(takesLowerEpoch),
	},
	{
		name:   "a voter that grants what it has not promised",
		finds:  "G4",
		breaks: cheats(grantsAll),
	},
	{
		name:   "a voter that forgets for how long it is bound",
		finds:  "G4",
		says:   "is promised to",
		breaks: func(w *World) { w.sabotage.forgetLength = true },
		o:      func(o *Options) { o.Crash = 5 },
	},
	{
		name:   "a leaseholder that relies on its promises for too long",
		finds:  "G5",
		breaks: cheats(goesOn),
	},
	{
		name:  "clocks that are off by a half, and are said not to be",
		finds: "G5",
		o:     func(o *Options) { o.Rate, o.ChangeRate = 500, 2 },
	},
	{
		name:   "a process that acts without the votes it asks for",
		finds:  "G6",
		breaks: cheats(holdsAlone),
	},
	{
		name:   "an epoch of a roster that there is not",
		finds:  "G6",
		says:   "nobody has made that generation",
		breaks: permits(takesUnknownGeneration),
	},
	{
		name:   "an app that writes under another one's epoch",
		finds:  "G7",
		breaks: func(w *World) { w.sabotage.forge = true },
		o:      func(o *Options) { o.Crash, o.Cut = 5, 5 },
	},
	{
		name:   "a ledger that forgets what the app was told",
		finds:  "G8",
		breaks: func(w *World) { w.sabotage.forgetTold = true },
		o:      sicken,
	},
	{
		name:   "a leaseholder that releases, and goes on",
		finds:  "G8",
		says:   "and holds",
		breaks: cheats(releasesEarly),
	},
	{
		name:    "a process that follows one who is on no roster",
		finds:   "G9",
		classic: true,
		breaks:  cheats(followsStranger),
	},
	{
		name:    "a process that follows one with priority 0",
		finds:   "G9",
		says:    "never coordinates",
		classic: true,
		breaks:  cheats(followsZero),
		o:       func(o *Options) { o.Zero = true },
	},
	{
		name:    "a process that coordinates, and has withdrawn",
		finds:   "G9",
		says:    "has withdrawn",
		classic: true,
		breaks:  cheats(staysWithdrawn),
	},
	{
		name:   "a process with priority 0 that holds the lease",
		finds:  "G9",
		says:   "not on its roster with a priority",
		breaks: cheats(holdsWithoutPriority),
		o:      func(o *Options) { o.Zero = true },
	},
	{
		name:    "links that do not tell the runs of a process apart",
		finds:   "G11",
		classic: true,
		breaks:  func(w *World) { w.sabotage.oneRun = true },
		o:       func(o *Options) { o.Crash, o.Replay = 5, 500 },
	},
	{
		name:    "a process that sends to a stranger",
		finds:   "G12",
		classic: true,
		breaks:  cheats(writesToStranger),
	},
	{
		name:    "a process that says all a hundred times",
		finds:   "G13",
		classic: true,
		breaks:  cheats(shouts),
	},
	{
		name:    "a ring's message that circles for ever",
		finds:   "G13",
		says:    "as if it had not travelled",
		classic: true,
		breaks:  cheats(circles),
	},
	{
		name:    "a process that panics",
		finds:   "G13",
		says:    "panic",
		classic: true,
		breaks:  cheats(breaksDown),
		o:       func(o *Options) { o.Sicken = 5 },
	},
	{
		name:    "a process that neither follows nor elects",
		finds:   "L1",
		classic: true,
		breaks:  cheats(namesNobody),
	},
	{
		name:   "processes whose timers do not run out",
		finds:  "L1",
		says:   "nobody may act",
		breaks: cheats(stops),
	},
	{
		name:    "a process that no announcement reaches",
		finds:   "L2",
		classic: true,
		breaks: loses(func(_ *World, _, q int32, m *node.Message) bool {
			return q == 0 && m.Type == node.Election
		}),
	},
	{
		name:  "a process that no renewal reaches",
		finds: "L2",
		breaks: loses(func(_ *World, _, q int32, m *node.Message) bool {
			return q == 0 && asks(m, lease.Renew)
		}),
	},
	{
		name:    "a process that no roster reaches",
		finds:   "L2",
		says:    "has none",
		classic: true,
		breaks:  func(w *World) { w.sabotage.leftOut = true },
	},
	{
		name:   "a process that no roster reaches, in a Guarded group",
		finds:  "L2",
		says:   "has none",
		breaks: func(w *World) { w.sabotage.leftOut = true },
	},
	{
		name:   "a leaseholder that lets its lease lapse now and then",
		finds:  "L3",
		says:   "began to hold",
		breaks: losesVotes(35*T, 50*T),
	},
	{
		name:  "a leaseholder that offers nobody its lease",
		finds: "L4",
		breaks: loses(func(_ *World, _, _ int32, m *node.Message) bool {
			return asks(m, lease.Transfer)
		}),
	},
	{
		name:    "halves that do not talk to each other any more",
		finds:   "L5",
		classic: true,
		breaks: loses(func(_ *World, p, q int32, _ *node.Message) bool {
			return (p < 1) != (q < 1)
		}),
	},
	{
		name:    "processes that repeat what they said in an election",
		finds:   "L6",
		classic: true,
		breaks:  chatters,
	},
	{
		name:   "leaseholders that do not last, over links that are cut for good",
		finds:  "L7",
		breaks: losesVotes(12*T, 40*T),
		o:      func(o *Options) { o.Ragged = true },
	},
	{
		name:   "a leaseholder that rests when a link breaks",
		finds:  "T10",
		breaks: tires,
		o:      func(o *Options) { *o = DrawOwnLink(o.Algorithm, o.Seed) },
	},
	{
		name:   "a voter that leaves before it is off the roster",
		finds:  "T10",
		breaks: func(w *World) { w.sabotage.leavesAtOnce = true },
		o: func(o *Options) {
			*o = DrawOwnLink(o.Algorithm, o.Seed)
			o.Processes, o.Leave = 4, 1
		},
	},
	{
		name:   "an agent that uses rosters of the next rules level",
		finds:  "T16",
		breaks: func(w *World) { w.sabotage.nextLevel = true },
		o:      func(o *Options) { *o = DrawUpgrades(o.Algorithm, o.Seed) },
	},
	{
		name:    "a manager that takes a request for what the operator would see now",
		finds:   "T17",
		says:    "when",
		classic: true,
		breaks:  func(w *World) { w.sabotage.anyRequest = true },
		o:       stepDowns,
	},
	{
		name:   "a manager that lets a process stand aside whoever leads",
		finds:  "T17",
		says:   "in the end",
		breaks: func(w *World) { w.sabotage.endlessRequest = true },
		o: func(o *Options) {
			stepDowns(o)
			o.Processes, o.Strangers, o.Rest = 2, 0, true
			o.Weights = Weights{StepDown: 3, Sicken: 4} // little else happens; the other one stays ill
		},
	},
	{
		name:    "a manager that gives witnesses the priorities of their names",
		finds:   "T19",
		classic: true,
		breaks:  func(w *World) { w.sabotage.unmark = true },
		o:       func(o *Options) { *o = DrawWitnesses(o.Algorithm, o.Guarded, o.Seed) },
	},
	{
		name:   "a disk that lies",
		finds:  "V11",
		breaks: func(w *World) { w.sabotage.confirmAll = true },
		o:      func(o *Options) { o.Disks.Refused = 300 },
	},
	{
		name:    "an announcement that names another process to one",
		finds:   "one decision",
		classic: true,
		breaks:  otherWinner,
	},
}

// stepDowns has operators ask that coordinators step down.
func stepDowns(o *Options) { *o = DrawStepDowns(o.Algorithm, o.Guarded, o.Seed) }

// sicken lets apps become unhealthy, and agents leave, so that leases are given back.
func sicken(o *Options) { o.Sicken, o.Leave = 5, 2 }
