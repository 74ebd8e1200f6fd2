package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// kind is what a fault does.
type kind string

const (
	kill        kind = "SIGKILL"
	pause       kind = "SIGSTOP"
	remove      kind = "delete"
	killManager kind = "SIGKILL manager"
	stopManager kind = "SIGSTOP manager"
	stopServer  kind = "SIGSTOP API server"
)

// part is what of a pod a fault hits.
type part string

const (
	both  part = "pod"
	agent part = "agent"
	app   part = "app"
)

// fault is one fault; it hits every group, each at a pod in the same role.
type fault struct {
	kind        kind
	part        part          // kill, pause
	coordinator bool          // the pod that acts, else another
	which       int           // of the others
	length      time.Duration // of a pause, or how long the manager or API server is stopped
	delay       time.Duration // after the round's first fault
}

// hitsPods: it is about pods, not about what is around them.
func (f fault) hitsPods() bool { return f.kind == kill || f.kind == pause || f.kind == remove }

func (f fault) String() string {
	text := string(f.kind)
	if f.hitsPods() {
		who := "another"
		if f.coordinator {
			who = "coordinator"
		}
		switch {
		case f.kind == remove:
			text += " " + who
		case f.part == both:
			text += " " + who
		default:
			text += " " + string(f.part) + " of " + who
		}
	}
	if f.length > 0 {
		text += fmt.Sprintf(", %.1f s", f.length.Seconds())
	}
	return text
}

// maxOutage is how long the API server and the manager may be stopped: rounds are to be many.
const maxOutage = 5 * time.Second

// round is what strikes at once. The first fault has no delay.
type round []fault

// opening is the first round of every run: a pause that no lease outlives, so that there is a stale process to refuse.
func opening(lease time.Duration) round {
	return round{{kind: pause, part: both, coordinator: true, length: 3 * lease}}
}

// draw draws a round: one fault, in a third of all rounds a second one while the first is in effect.
func draw(random *rand.Rand, lease time.Duration) round {
	r := round{drawFault(random, lease)}
	if random.IntN(3) > 0 {
		return r
	}
	for {
		second := drawFault(random, lease)
		if together(r[0], second) {
			second.delay = time.Duration(random.Int64N(int64(lease)))
			return append(r, second)
		}
	}
}

// together tells whether two faults may strike at once. A minority of pods may; a deletion needs the API server; what is around the
// pods is stopped once at a time.
func together(a, b fault) bool {
	switch {
	case a.hitsPods() && b.hitsPods():
		return a.kind != remove || b.kind != remove
	case a.kind == remove && b.kind == stopServer, a.kind == stopServer && b.kind == remove:
		return false
	default:
		return a.hitsPods() || b.hitsPods() || (a.kind == stopServer) != (b.kind == stopServer)
	}
}

func drawFault(random *rand.Rand, lease time.Duration) fault {
	f := fault{coordinator: random.IntN(3) > 0, which: random.IntN(1 << 16)}
	switch n := random.IntN(20); {
	case n < 6:
		f.kind, f.part = kill, drawPart(random)
	case n < 13:
		f.kind, f.part = pause, drawPart(random)
		f.length = lease/2 + time.Duration(random.Int64N(int64(lease)*5/2))
	case n < 16:
		f.kind = remove
	case n < 17:
		f.kind = killManager
	case n < 18:
		f.kind, f.length = stopManager, drawOutage(random)
	default:
		f.kind, f.length = stopServer, drawOutage(random)
	}
	return f
}

func drawPart(random *rand.Rand) part { return []part{both, agent, app}[random.IntN(3)] }

func drawOutage(random *rand.Rand) time.Duration {
	return time.Second + time.Duration(random.Int64N(int64(maxOutage-time.Second)))
}
