package lease_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

const ms = time.Millisecond

// play is a group of machines on a network without surprises: a letter takes a millisecond and
// links keep their order. Time and clocks are explicit. In place of an election machine each
// process names whom the script says or its lease appoints; one that doubts it names the highest
// candidate that it can reach.
type play struct {
	out       strings.Builder
	now       time.Duration // true time
	roster    *lease.Roster
	actors    []*actor // in the roster's order
	mail      []parcel
	cut       map[[2]string]bool
	latencies map[[2]string]time.Duration
	renewals  bool // print them, too
}

// actor is a process.
type actor struct {
	*lease.Machine
	incarnation lease.Incarnation
	disk        lease.State
	rate        float64
	offset      time.Duration
	wall        time.Duration // by how much the wall clock was stepped
	nominated   string
	down        bool
	ill         bool
	// until when the app was told, on its clock; stays when the agent dies
	told    time.Duration
	session bool        // the app keeps a session: the permission can be taken back at once
	holds   lease.Epoch // as printed last
	said    map[string]bool
}

// parcel is a request or a response under way.
type parcel struct {
	at          time.Duration
	from, to    string
	incarnation lease.Incarnation
	request     *lease.Request
	response    *lease.Response
}

// newPlay starts a group whose voters have been voters for long, or that is new.
func newPlay(r *lease.Roster, fresh bool) *play {
	g := &play{
		roster:    r,
		cut:       map[[2]string]bool{},
		latencies: map[[2]string]time.Duration{},
		now:       time.Hour,
	}
	for _, q := range r.Members {
		a := &actor{
			rate:        1,
			incarnation: lease.Incarnation{Name: q.Name, UID: q.UID, StateID: q.StateID, Number: 1},
			said:        map[string]bool{},
		}
		if !fresh {
			a.disk = lease.State{Group: r.Group, Generation: r.Generation, Voted: true}
		}
		g.actors = append(g.actors, a)
		g.boot(a)
	}
	return g
}

func (g *play) boot(a *actor) {
	a.down, a.nominated, a.said = false, "", map[string]bool{}
	a.Machine = lease.New(lease.Config{Self: a.incarnation, Saved: a.disk, Seed: 7, Now: g.read(a)})
	g.step(a, lease.Event{Type: lease.RosterChanged, Roster: g.roster})
}

func (g *play) actor(name string) *actor {
	for _, a := range g.actors {
		if a.incarnation.Name == name {
			return a
		}
	}
	panic("nobody is called " + name)
}

func (g *play) clock(a *actor) time.Duration {
	return time.Duration(float64(g.now)*a.rate) + a.offset
}

func (g *play) read(a *actor) lease.Reading {
	boot := g.clock(a)
	return lease.Reading{Boot: boot, Raw: boot, Wall: boot + a.wall}
}

// setRate changes how fast a clock runs, without a step.
func (g *play) setRate(a *actor, rate float64) {
	before := g.clock(a)
	a.rate = rate
	a.offset += before - g.clock(a)
}

func (g *play) say(format string, args ...any) {
	fmt.Fprintf(&g.out, "%5d %s\n", (g.now-time.Hour)/ms, fmt.Sprintf(format, args...))
}

func (g *play) name(a *actor, name string) {
	if a.nominated != name {
		a.nominated = name
		g.step(a, lease.Event{Type: lease.Nominated, Process: name})
	}
}

// step gives an event to a machine, and carries out what it says.
func (g *play) step(a *actor, e lease.Event) {
	e.Now, e.T = g.read(a), 200*ms
	out := *a.Step(e)
	out.Requests, out.Replies = slices.Clone(out.Requests), slices.Clone(out.Replies)
	if out.Revoke {
		if a.session {
			a.told = min(a.told, g.clock(a))
		}
		defer g.step(a, lease.Event{Type: lease.Told, Until: a.told})
	}
	g.notice(a)
	for _, r := range out.Replies {
		g.post(parcel{from: a.incarnation.Name, to: r.To, incarnation: a.incarnation,
			response: &r.Response})
	}
	g.send(a, out.Requests)
	if out.Version != 0 {
		a.disk = a.State()
		g.step(a, lease.Event{Type: lease.Persisted, Version: out.Version})
	}
	if out.Suspect != "" {
		g.say("%s doubts %s", a.incarnation.Name, out.Suspect)
		g.name(a, g.highest(a, out.Suspect))
	}
	if out.Appoint != "" {
		g.name(a, out.Appoint)
	}
}

// notice says what has changed, and keeps what the app is told.
func (g *play) notice(a *actor) {
	epoch, deadline, ok := a.Permission()
	if !ok || deadline <= g.clock(a) {
		epoch = 0
	} else {
		a.told = max(a.told, deadline)
	}
	if epoch != a.holds {
		if a.holds = epoch; epoch != 0 {
			g.say("%s may act under %s", a.incarnation.Name, epoch)
		} else {
			g.say("%s may act no more", a.incarnation.Name)
		}
	}
}

// send posts requests, and prints them; renewals once an epoch.
func (g *play) send(a *actor, all []lease.Addressed) {
	var what string
	var to []string
	flush := func() {
		if what != "" {
			g.say("%s → %s  %s", a.incarnation.Name, strings.Join(to, " "), what)
		}
		what, to = "", nil
	}
	for _, p := range all {
		g.post(parcel{from: a.incarnation.Name, to: p.To, incarnation: a.incarnation,
			request: &p.Request})
		text := describe(p.Request)
		if (p.Request.Kind == lease.Vote || p.Request.Kind == lease.Renew) && !g.renewals {
			key := text + p.To
			if a.said[key] {
				continue
			}
			a.said[key] = true
		}
		if text != what {
			flush()
			what = text
		}
		to = append(to, p.To)
	}
	flush()
}

func (g *play) post(p parcel) {
	link := [2]string{p.from, p.to}
	if g.cut[link] {
		return
	}
	p.at = g.now + ms + g.latencies[link]
	g.mail = append(g.mail, p)
}

// deliver hands over a letter.
func (g *play) deliver(p parcel) {
	a := g.actor(p.to)
	if a.down || g.cut[[2]string{p.from, p.to}] {
		return
	}
	if p.response != nil {
		if !p.response.Granted && p.response.Kind != lease.PreVote {
			g.say(
				"%s ⇢ %s  %s denied",
				p.from,
				p.to,
				describe(lease.Request{Kind: p.response.Kind, Epoch: p.response.Epoch}),
			)
		}
		g.step(a, lease.Event{Type: lease.Responded, From: p.incarnation, Response: *p.response})
		return
	}
	g.step(a, lease.Event{Type: lease.Requested, From: p.incarnation, Request: *p.request})
}

// run lets time pass, and everything happen that happens meanwhile.
func (g *play) run(d time.Duration) {
	for until := g.now + d; ; {
		at, next := until, -1
		for i, p := range g.mail {
			if p.at <= at && (next < 0 || p.at < at) {
				at, next = p.at, i
			}
		}
		var tick *actor
		for _, a := range g.actors {
			if due := g.due(a); !a.down && due < at {
				at, next, tick = due, -1, a
			}
		}
		g.now = at
		switch {
		case tick != nil:
			g.step(tick, lease.Event{Type: lease.Tick})
		case next >= 0:
			p := g.mail[next]
			g.mail = slices.Delete(g.mail, next, next+1)
			g.deliver(p)
		default:
			return
		}
	}
}

// due is when a process looks at its clock next, in true time: its own, rounded up.
func (g *play) due(a *actor) time.Duration {
	if a.down {
		return time.Duration(1<<62 - 1)
	}
	wait := float64(a.Next()-g.clock(a)) / a.rate
	return g.now + max(time.Duration(wait)+time.Microsecond, time.Microsecond)
}

// held is who may act at this instant, as the apps were told: there must be one at most (G1).
func (g *play) acting() (names []string) {
	for _, a := range g.actors {
		if g.clock(a) < a.told {
			names = append(names, a.incarnation.Name)
		}
	}
	return names
}

// holder is who holds, by its own account.
func (g *play) holder() (name string, e lease.Epoch) {
	for _, a := range g.actors {
		if epoch, deadline, ok := a.Permission(); ok && !a.down && g.clock(a) < deadline {
			return a.incarnation.Name, epoch
		}
	}
	return "", 0
}
