package node_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// newer returns the next generation, in which P2 has another priority.
func newer(r *node.Roster) *node.Roster {
	return edited(r, func(r *node.Roster) { r.Members[1].Priority += 7 })
}

// asks brings P2 a question of P3's, which uses that generation.
func (p *process) asks(generation int64) {
	p.receive("P3", node.Message{Type: node.Question, ReplyTo: "P3", Generation: generation})
}

// count is how many messages of a type the process has sent.
func (p *process) count(of node.MessageType) (n int) {
	for _, m := range p.sent {
		if m.Type == of {
			n++
		}
	}
	return n
}

// MC9: whatever names a newer generation is followed by a request for it, at most once a heartbeat.
func TestNewerRosterIsAskedFor(t *testing.T) {
	for what, m := range map[string]node.Message{
		"question": {Type: node.Question, ReplyTo: "P3", Generation: 2},
		"answer":   {Type: node.Answer, Generation: 2},
		"lease request": {Type: node.LeaseRequest, ReplyTo: "P3", Request: lease.Request{
			Kind:  lease.PreVote,
			Group: "g",
			Epoch: lease.NewEpoch(2, 0),
		}},
		"lease response": {Type: node.LeaseResponse, Response: lease.Response{
			Kind:       lease.PreVote,
			Generation: 2,
		}},
	} {
		r := newRoster(true)
		p := start(t, "P2", r)
		p.request("P3", lease.PreVote, 0)
		if p.behind {
			t.Fatal("it is behind its own generation")
		}
		p.receive("P3", m)
		p.receive("P3", m)
		if n := p.count(node.RosterRequest); n != 1 || !p.behind || !p.node.Awaits("P3") || p.node.Awaits("P1") {
			t.Errorf("%s: %d requests, behind %t, awaits P3 %t", what, n, p.behind, p.node.Awaits("P3"))
		}
		p.pass(r.Heartbeat)
		p.receive("P3", m)
		if n := p.count(node.RosterRequest); n != 2 {
			t.Errorf("%s: %d requests a heartbeat later, want 2", what, n)
		}
	}
}

// MC9: who claims a newer generation all the time, and has none, does not keep the others from being
// asked.
func TestALiarIsNotTheOnlyOneThatIsAsked(t *testing.T) {
	r := newRoster(true)
	p := start(t, "P2", r)
	lie := func() {
		p.receive("P1", node.Message{Type: node.Question, ReplyTo: "P1", Generation: 1000})
	}
	for i := 0; i < 30 && !p.node.Awaits("P3"); i++ { // for three heartbeats
		lie()
		if i%10 == 5 {
			p.asks(2)
		}
		p.pass(r.Heartbeat / 10)
	}
	p.receive("P3", node.Message{Type: node.RosterReply, Roster: newer(r)})
	if v := p.node.View(); v.Generation != 2 {
		t.Errorf("it uses generation %d", v.Generation)
	}
}

// A roster that was asked for is used, and acknowledged, as one of the manager's.
func TestPassedOnRosterIsUsed(t *testing.T) {
	r := newRoster(true)
	p := start(t, "P2", r)
	p.asks(2)
	p.receive("P3", node.Message{Type: node.RosterReply, Roster: newer(r)})
	if v := p.node.View(); v.Generation != 2 || p.disk.Roster.Generation != 2 {
		t.Errorf("it uses generation %d", v.Generation)
	}
	if p.node.Awaits("P3") {
		t.Error("it still awaits one")
	}
}

// A roster that the manager has brought meanwhile is not awaited any more, and the next one is
// asked for at once.
func TestTheManagersRosterEndsTheRequest(t *testing.T) {
	r := newRoster(true)
	p := start(t, "P2", r)
	p.asks(2)
	p.step(node.Event{Type: node.RosterReceived, Roster: newer(r)})
	if p.node.Awaits("P3") {
		t.Error("it still awaits the roster that it has")
	}
	p.asks(3)
	if n := p.count(node.RosterRequest); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// What nobody asked for, another group's, one without this process and an older one change nothing.
func TestPassedOnRosterIsPassedOver(t *testing.T) {
	r := newRoster(true)
	for what, c := range map[string]struct {
		from   string
		roster *node.Roster
	}{
		"not asked for":        {"P1", newer(r)},
		"of another group":     {"P3", edited(r, func(r *node.Roster) { r.Group = "h" })},
		"without this process": {"P3", edited(r, func(r *node.Roster) { r.Members[1].UID = "another" })},
		"older":                {"P3", edited(r, func(r *node.Roster) { r.Generation = 0 })},
		"none":                 {"P3", nil},
	} {
		p := start(t, "P2", r)
		p.asks(2)
		p.receive(c.from, node.Message{Type: node.RosterReply, Roster: c.roster})
		if v := p.node.View(); v.Generation != 1 {
			t.Errorf("%s: it uses generation %d", what, v.Generation)
		}
	}
}

// A request has one answer, whatever it holds: checking a signature costs time, and a member may
// send rosters that nobody signed without end.
func TestARequestHasOneAnswer(t *testing.T) {
	r := newRoster(true)
	p := start(t, "P2", r)
	p.asks(2)
	p.receive("P3", node.Message{Type: node.RosterReply})
	if p.node.Awaits("P3") {
		t.Error("it awaits another answer to the same request")
	}
	p.pass(r.Heartbeat)
	p.asks(2)
	p.receive("P3", node.Message{Type: node.RosterReply, Roster: newer(r)})
	if v := p.node.View(); v.Generation != 2 {
		t.Errorf("it has asked again, and uses generation %d", v.Generation)
	}
}

// Who asks gets the roster in use, at most once a heartbeat: it is large.
func TestRosterIsGiven(t *testing.T) {
	r := newRoster(true)
	p := start(t, "P2", r)
	ask := func(from string) {
		p.receive(from, node.Message{Type: node.RosterRequest, ReplyTo: from})
	}
	ask("P3")
	ask("P3")
	ask("P1")
	if n := p.count(node.RosterReply); n != 2 {
		t.Errorf("%d replies to P3 and P1, want one to each", n)
	}
	for _, m := range p.sent {
		if m.Type == node.RosterReply && (m.Roster != r || m.ReplyTo != m.To) {
			t.Errorf("it gives %+v to %s, by %v", m.Roster, m.To, m.ReplyTo)
		}
	}
	p.pass(r.Heartbeat)
	ask("P3")
	if n := p.count(node.RosterReply); n != 3 {
		t.Errorf("%d replies a heartbeat later, want 3", n)
	}
}

// A static group has no manager, so nothing is signed, and nothing passed on.
func TestStaticGroupPassesNothingOn(t *testing.T) {
	p := boot(t, "P2", lease.State{})
	p.config.Managed = false
	p.node = node.New(p.config)
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	p.asks(2)
	p.receive("P3", node.Message{Type: node.RosterRequest, ReplyTo: "P3"})
	if n := p.count(node.RosterRequest) + p.count(node.RosterReply); n != 0 {
		t.Errorf("%d messages about rosters", n)
	}
}
