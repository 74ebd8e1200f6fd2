package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

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

// kind is a kind of fault.
type kind struct {
	name   string
	class  report.Class
	scope  scope
	weight int
	// least and most bound its length, in which it lasts; 0 for what is done at once.
	least, most time.Duration
	// alone: nothing else is done to the groups in its round.
	alone bool
}

// The faults of docs/evidence/chaos.md; names are what the table shows.
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
	renewAuthority = "delete CA secret"
	editPriority   = "edit priorities"
	scaleDown      = "scale down by two, and up"
	rollingRestart = "rolling restart"
)

// kinds are the faults, as often as their weight says.
var kinds = []kind{
	{name: killAgent, class: report.Kill, weight: 6},
	{name: killApp, class: report.Kill, weight: 4},
	{name: killPod, class: report.Kill, weight: 9},
	{name: forceDelete, class: report.Kill, weight: 4},
	{name: deletePod, class: report.Leave, weight: 3},
	{name: pauseAgent, class: report.Pause, weight: 4, least: leaseTime / 2, most: 4 * leaseTime},
	{name: pauseApp, class: report.Pause, weight: 2, least: leaseTime / 2, most: 4 * leaseTime},
	{name: pausePod, class: report.Pause, weight: 9, least: leaseTime * 5 / 4, most: 4 * leaseTime},
	{name: cutOff, class: report.Cut, weight: 4, least: leaseTime / 2, most: 5 * leaseTime},
	{name: cutDeaf, class: report.Cut, weight: 2, least: leaseTime / 2, most: 5 * leaseTime},
	{name: cutMute, class: report.Cut, weight: 2, least: leaseTime / 2, most: 5 * leaseTime},
	{name: cutHalves, class: report.Cut, weight: 3, least: leaseTime / 2, most: 5 * leaseTime, alone: true},
	{name: cutBridge, class: report.Cut, weight: 2, least: leaseTime / 2, most: 5 * leaseTime, alone: true},
	{name: cutLink, class: report.Cut, weight: 2, least: leaseTime / 2, most: 5 * leaseTime},
	{name: pauseNode, class: report.Pause, scope: aNode, weight: 2, least: leaseTime * 5 / 4, most: 5 * leaseTime, alone: true},
	{name: killNode, class: report.Kill, scope: aNode, weight: 1, least: 2 * time.Second, most: 5 * time.Second, alone: true},
	{name: drainNode, class: report.Leave, scope: aNode, weight: 1, alone: true},
	{name: starveNode, class: report.Starve, scope: aNode, weight: 1, least: 2 * time.Second, most: 5 * time.Second},
	{name: pauseServer, class: report.Outage, scope: theWorld, weight: 2, least: 2 * time.Second, most: 10 * time.Second},
	{name: killEtcd, class: report.Outage, scope: theWorld, weight: 1},
	{name: killManagers, class: report.Outage, scope: theWorld, weight: 2},
	{name: pauseManager, class: report.Outage, scope: theWorld, weight: 1, least: 2 * time.Second, most: 10 * time.Second},
	{name: renewAuthority, class: report.Renewal, scope: theWorld, weight: 1},
	{name: editPriority, class: report.Edit, scope: aGroup, weight: 2},
	{name: scaleDown, class: report.Leave, scope: aGroup, weight: 1, alone: true},
	{name: rollingRestart, class: report.Leave, scope: aGroup, weight: 1, alone: true},
}

// kindsNamed are the faults of these names; all if there is none.
func kindsNamed(names []string) ([]kind, error) {
	if len(names) == 0 {
		return kinds, nil
	}
	var named []kind
	for _, name := range names {
		k := kindNamed(name)
		if k.name == "" {
			var known []string
			for _, k := range kinds {
				known = append(known, strconv.Quote(k.name))
			}
			return nil, fmt.Errorf("--fault %q: must be one of %s", name, strings.Join(known, ", "))
		}
		named = append(named, k)
	}
	return named, nil
}

// kindNamed is the fault of that name; one without a name if there is none.
func kindNamed(name string) kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return kind{}
}

// fault is one fault.
type fault struct {
	kind
	coordinator bool // the coordinator is to be hit, or its node
	which       int  // of the others
	length      time.Duration
	delay       time.Duration // after the round's first fault
}

// round is what strikes at once. Its first fault has no delay.
type round []fault

// draw draws a round: a fault, in a third of all rounds a second one while the first is in effect.
func draw(random *rand.Rand, kinds []kind) round {
	r := round{drawFault(random, kinds)}
	if r[0].alone || random.IntN(3) > 0 {
		return r
	}
	for range 100 { // unless what may be drawn does not go together
		second := drawFault(random, kinds)
		if together(r[0].kind, second.kind) {
			second.delay = time.Duration(random.Int64N(int64(leaseTime)))
			return append(r, second)
		}
	}
	return r
}

// together tells whether two faults may strike at once. Two pods of five may be hit; what is done by way of the API server needs it;
// and of what is around the pods one thing fails at once.
func together(a, b kind) bool {
	switch {
	case a.alone || b.alone:
		return false
	case needsServer(a) && isOutage(b), needsServer(b) && isOutage(a):
		return false
	case a.scope == aPod && b.scope == aPod:
		return true
	default:
		return a.scope != b.scope
	}
}

func needsServer(k kind) bool {
	return k.class == report.Leave || k.class == report.Edit || k.class == report.Renewal || k.name == forceDelete || k.name == pauseManager
}

func isOutage(k kind) bool { return k.name == pauseServer || k.name == killEtcd }

func drawFault(random *rand.Rand, kinds []kind) fault {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := random.IntN(sum)
	f := fault{coordinator: random.IntN(3) > 0, which: random.IntN(1 << 16)}
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			f.kind = k
			break
		}
	}
	if f.most > 0 {
		f.length = f.least + time.Duration(random.Int64N(int64(f.most-f.least)))
	}
	return f
}
