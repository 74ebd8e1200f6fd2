package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/report"
)

// scope is what a fault strikes at once.
type scope int

const (
	aPod     scope = iota // of each group, each in the same role
	aNode                 // one worker
	aGroup                // each group as a whole
	theWorld              // what is around the groups
)

// faultKind is a kind of fault.
type faultKind struct {
	name   string
	class  report.Class
	scope  scope
	weight int
	// containers are those of a pod that are killed or paused.
	containers []string
	// least and most bound its length, in which it lasts; 0 for what is done at once.
	least, most time.Duration
	// alone: nothing else is done to the groups in its round.
	alone bool
	// full: it needs a full cluster.
	full bool
}

// The faults, by the names that the table shows.
const (
	killAgent      = "kill agent"
	killApp        = "kill app"
	killPod        = "kill pod"
	forceDelete    = "delete pod --force"
	deletePod      = "delete pod"
	pauseAgent     = "pause agent"
	pauseApp       = "pause app"
	pausePod       = "pause pod"
	cutOff         = "cut off, both ways"
	cutDeaf        = "cut: hears nobody"
	cutMute        = "cut: nobody hears it"
	cutHalves      = "cut in two"
	cutBridge      = "cut in two, with a bridge"
	cutLink        = "cut one link"
	pauseNode      = "pause node"
	killNode       = "kill node"
	drainNode      = "drain node"
	starveNode     = "starve of CPU"
	pauseServer    = "pause API server"
	killEtcd       = "kill etcd"
	killManagers   = "kill all managers"
	pauseManager   = "pause leading manager"
	cutLeader      = "cut off leading manager"
	setStatusBack  = "restore an older status"
	renewAuthority = "delete CA secret"
	editPriority   = "edit priorities"
	editForSome    = "edit that reaches a minority"
	scaleDown      = "scale down by two, and up"
	rollingRestart = "rolling restart"
)

// faultKinds returns all faults. They are drawn as often as their weight says.
func faultKinds() []faultKind {
	agent, app := []string{v1.AgentContainer}, []string{backend.AppContainer}
	both := slices.Concat(agent, app)
	of := func(s scope, name string, class report.Class, weight int) faultKind {
		return faultKind{
			name:   name,
			class:  class,
			scope:  s,
			weight: weight,
		}
	}
	inPods := func(name string, class report.Class, weight int, containers []string) faultKind {
		k := of(aPod, name, class, weight)
		k.containers = containers
		return k
	}
	kill := func(name string, weight int, containers []string) faultKind {
		return inPods(name, report.Kill, weight, containers)
	}
	// lasts gives a fault its shortest and its longest length.
	lasts := func(least, most time.Duration, k faultKind) faultKind {
		k.least, k.most = least, most
		return k
	}
	pause := func(name string, weight int, containers []string) faultKind {
		return lasts(longestLease/2, 4*longestLease, inPods(name, report.Pause, weight, containers))
	}
	cut := func(name string, weight int) faultKind {
		k := of(aPod, name, report.Cut, weight)
		k.full, k.alone = true, name == cutHalves || name == cutBridge
		return lasts(longestLease/2, 5*longestLease, k)
	}
	node := func(name string, class report.Class, weight int) faultKind {
		k := of(aNode, name, class, weight)
		k.alone, k.full = true, true
		return k
	}
	world := func(name string, class report.Class, weight int) faultKind {
		return of(theWorld, name, class, weight)
	}
	group := func(name string, class report.Class, weight int) faultKind {
		k := of(aGroup, name, class, weight)
		k.alone = class == report.Leave
		return k
	}
	full := func(k faultKind) faultKind {
		k.full = true
		return k
	}
	const second = time.Second
	return []faultKind{
		kill(killAgent, 6, agent), kill(killApp, 4, app), kill(killPod, 9, both),
		kill(forceDelete, 4, nil),
		{name: deletePod, class: report.Leave, weight: 3},
		pause(pauseAgent, 4, agent), pause(pauseApp, 2, app), pause(pausePod, 9, both),
		cut(cutOff, 4), cut(cutDeaf, 2), cut(cutMute, 2),
		cut(cutHalves, 3), cut(cutBridge, 2), cut(cutLink, 2),
		lasts(longestLease*5/4, 5*longestLease, node(pauseNode, report.Pause, 2)),
		lasts(2*second, 5*second, node(killNode, report.Kill, 1)),
		node(drainNode, report.Leave, 1),
		lasts(2*second, 5*second, of(aNode, starveNode, report.Starve, 1)),
		lasts(second, 10*second, world(pauseServer, report.Outage, 2)),
		world(killEtcd, report.Outage, 1),
		world(killManagers, report.Outage, 2),
		lasts(second, 10*second, world(pauseManager, report.Outage, 1)),
		lasts(5*second, 20*second, full(world(cutLeader, report.Outage, 1))),
		{name: setStatusBack, class: report.Outage, scope: theWorld, weight: 1, alone: true},
		world(renewAuthority, report.Renewal, 1),
		group(editPriority, report.Edit, 2),
		lasts(2*second, 10*second, full(group(editForSome, report.Edit, 2))),
		group(scaleDown, report.Leave, 1), group(rollingRestart, report.Leave, 1),
	}
}

// within returns the faults that a cluster is capable of, and those that it is not.
func within(kinds []faultKind, full bool) (able, leftOut []faultKind) {
	for _, k := range kinds {
		if full || !k.full {
			able = append(able, k)
		} else {
			leftOut = append(leftOut, k)
		}
	}
	return able, leftOut
}

// named returns the faults of these names; all if there is no name.
func named(kinds []faultKind, names []string) ([]faultKind, error) {
	if len(names) == 0 {
		return kinds, nil
	}
	var found []faultKind
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == name })
		if i < 0 {
			var known []string
			for _, k := range kinds {
				known = append(known, strconv.Quote(k.name))
			}
			return nil, fmt.Errorf("--fault %q: must be one of %s", name, strings.Join(known, ", "))
		}
		found = append(found, kinds[i])
	}
	return found, nil
}

// fault is one fault.
type fault struct {
	faultKind
	coordinator bool // the coordinator is to be hit, or its node
	which       int  // of the others
	length      time.Duration
	delay       time.Duration // after the round's first fault
}

// round is what strikes at once. Its first fault has no delay.
type round []fault

// opening is the first round of a group: a pause that no lease outlives, so that there is a stale
// process to refuse.
func opening(kinds []faultKind) round {
	all, err := named(kinds, []string{pausePod})
	if err != nil {
		return nil // the run is not about pauses
	}
	return round{{faultKind: all[0], coordinator: true, length: 3 * longestLease}}
}

// draw draws a round: a fault, in a third of all rounds a second one while the first is in effect.
func draw(random *rand.Rand, kinds []faultKind) round {
	r := round{drawFault(random, kinds)}
	if r[0].alone || random.IntN(3) > 0 {
		return r
	}
	for range 100 { // unless what may be drawn does not go together
		second := drawFault(random, kinds)
		if together(r[0].faultKind, second.faultKind) {
			second.delay = time.Duration(random.Int64N(int64(longestLease)))
			return append(r, second)
		}
	}
	return r
}

// together reports whether two faults may strike at once. Two pods of five may be hit; what is done
// by way of the API server needs it; and of what is around the pods one thing fails at once, but
// that managers may be killed while the API server is away.
func together(a, b faultKind) bool {
	switch {
	case a.alone || b.alone:
		return false
	case needsServer(a) && isOutage(b), needsServer(b) && isOutage(a):
		return false
	case a.name == killManagers && isOutage(b), b.name == killManagers && isOutage(a):
		return true
	case a.scope == aPod && b.scope == aPod:
		return true
	default:
		return a.scope != b.scope
	}
}

func needsServer(k faultKind) bool {
	return k.class == report.Leave || k.class == report.Edit || k.class == report.Renewal ||
		k.name == forceDelete || k.name == pauseManager
}

func isOutage(k faultKind) bool { return k.name == pauseServer || k.name == killEtcd }

func drawFault(random *rand.Rand, kinds []faultKind) fault {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := random.IntN(sum)
	f := fault{coordinator: random.IntN(3) > 0, which: random.IntN(1 << 16)}
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			f.faultKind = k
			break
		}
	}
	if f.most > 0 {
		f.length = f.least + time.Duration(random.Int64N(int64(f.most-f.least)))
	}
	return f
}
