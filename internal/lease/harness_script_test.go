package lease_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// rosterOf is a roster of voters P1 to Pn of priority 1 to n.
func rosterOf(n int) *lease.Roster {
	r := &lease.Roster{
		Group:      "shop/scheduler",
		Generation: 1,
		Heartbeat:  100 * ms,
		Timeout:    500 * ms,
		Lease:      time.Second,
		Preemption: lease.Never,
	}
	for i := range n {
		name := fmt.Sprintf("P%d", i+1)
		r.Members = append(
			r.Members,
			lease.Member{
				Name:     name,
				UID:      "uid-" + name,
				StateID:  "state-" + name,
				Priority: int32(i + 1),
				Voter:    true,
			},
		)
	}
	return r
}

// next is the roster of the next generation, changed.
func next(r *lease.Roster, change func(*lease.Roster)) *lease.Roster {
	c := *r
	c.Generation++
	c.Members = slices.Clone(r.Members)
	change(&c)
	return &c
}

// kill ends an agent; what its app was told stays true. Its links are closed by the kernel.
func (g *play) kill(name string) {
	a := g.actor(name)
	a.down, a.holds = true, 0
	g.say("%s dies", name)
	g.mail = slices.DeleteFunc(g.mail, func(p parcel) bool { return p.to == name })
	for _, b := range g.actors {
		if !b.down {
			g.step(b, lease.Event{Type: lease.LinkDown, Process: name})
		}
	}
}

// restart starts it again, with its state directory or another one.
func (g *play) restart(name string, amnesia bool) {
	a := g.actor(name)
	a.incarnation.Number++
	if amnesia {
		a.incarnation.StateID, a.disk = a.incarnation.StateID+"′", lease.State{}
	}
	g.say("%s starts", name)
	g.boot(a)
}

// part cuts the links between two processes in both directions, or joins them again.
func (g *play) part(p, q string, cut bool) {
	g.cut[[2]string{p, q}], g.cut[[2]string{q, p}] = cut, cut
	if cut {
		g.step(g.actor(p), lease.Event{Type: lease.LinkDown, Process: q})
		g.step(g.actor(q), lease.Event{Type: lease.LinkDown, Process: p})
	}
}

// enrol gives all or some processes the next roster.
func (g *play) enrol(r *lease.Roster, names ...string) {
	g.roster = r
	for _, a := range g.actors {
		if !a.down && (len(names) == 0 || slices.Contains(names, a.incarnation.Name)) {
			g.step(a, lease.Event{Type: lease.RosterChanged, Roster: r})
		}
	}
}

// nominate has the election machines of these processes name one; without at, those of all.
func (g *play) nominate(name string, at ...string) {
	for _, a := range g.actors {
		if !a.down && (len(at) == 0 || slices.Contains(at, a.incarnation.Name)) {
			g.name(a, name)
		}
	}
}

// highest is the highest candidate that a process can reach, besides one.
func (g *play) highest(a *actor, besides string) string {
	for _, b := range slices.Backward(g.actors) {
		q := slices.IndexFunc(
			g.roster.Members,
			func(q lease.Member) bool { return q.Name == b.incarnation.Name },
		)
		if !b.down && !b.ill && !b.Rests() && b.incarnation.Name != besides &&
			!g.cut[[2]string{a.incarnation.Name, b.incarnation.Name}] &&
			q >= 0 &&
			g.roster.Members[q].Priority > 0 {
			return b.incarnation.Name
		}
	}
	return ""
}
