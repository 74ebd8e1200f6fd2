package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

const (
	ms        = time.Millisecond
	leaseTime = time.Second
)

// process is one Node, whose clock, links, disk and app are a test's. It writes down what the Node
// says, in order.
type process struct {
	t      *testing.T
	node   *node.Node
	name   string
	config node.Config
	now    time.Duration
	ledger lease.Ledger
	slow   bool         // writes end when the test says so
	broken bool         // writes fail
	failed int          // so many have
	writes []node.Write // under way
	disk   node.Write
	said   []string
	sent   []node.Message
	next   time.Duration
	left   bool
	exited bool
	behind bool
	links  []string
	notes  []node.Note
}

// newRoster is a roster of P1 to P3, priorities 1 to 3, all voters.
func newRoster(guarded bool) *node.Roster {
	r := &node.Roster{
		Group:      "g",
		Generation: 1,
		Algorithm:  "Bully",
		Guarded:    guarded,
		Heartbeat:  100 * ms,
		Timeout:    500 * ms,
		Lease:      leaseTime,
		Preemption: lease.Never,
	}
	r.Members = voters(3, "P%d")
	return r
}

// voters returns n members, named by their numbers, which are their priorities, too.
func voters(n int, format string) (all []lease.Member) {
	for i := range n {
		name := fmt.Sprintf(format, i+1)
		all = append(all, lease.Member{
			Name:     name,
			UID:      "uid",
			StateID:  "state-" + name,
			Priority: int32(i + 1),
			Voter:    true,
		})
	}
	return all
}

// edited is the next generation of a roster, changed.
func edited(r *node.Roster, change func(*node.Roster)) *node.Roster {
	c := *r
	c.Members = slices.Clone(r.Members)
	c.Generation++
	change(&c)
	return &c
}

// start starts a process of the roster whose voter has been one for long.
func start(t *testing.T, name string, r *node.Roster) *process {
	t.Helper()
	p := boot(t, name, lease.State{Group: "g", Generation: 1, Voted: true})
	p.step(node.Event{Type: node.RosterReceived, Roster: r})
	return p
}

func boot(t *testing.T, name string, saved lease.State) *process {
	p := &process{t: t, name: name, now: time.Hour}
	p.config = node.Config{
		Self:    lease.Incarnation{Name: name, UID: "uid", StateID: "state-" + name, Number: 1},
		Saved:   saved,
		Seed:    1,
		Now:     p.clocks(),
		Managed: true,
	}
	p.disk.Lease = saved
	p.node = node.New(p.config)
	return p
}

func (p *process) clocks() lease.Reading {
	return lease.Reading{Boot: p.now, Raw: p.now, Wall: p.now}
}

// step gives the node an event, and carries out what it says as its contract has it.
func (p *process) step(e node.Event) {
	e.Now = p.clocks()
	p.carryOut(p.node.Step(e))
}

func (p *process) carryOut(r *node.Ready) {
	if r.Revoke {
		p.ledger.Grant(lease.Permission{})
		p.say("revoke")
	}
	if r.Write != nil {
		p.writes = append(p.writes, *r.Write)
		p.say("write %d", r.Write.Number)
	}
	for _, m := range r.Messages {
		p.sent = append(p.sent, m)
		p.say("%s", describe(m))
	}
	p.ledger.Grant(r.Permission)
	p.notes = append(p.notes, r.Notes...)
	p.next, p.left, p.behind = r.Next, p.left || r.Left, p.behind || r.Behind
	p.exited = p.exited || r.Exited
	if r.Relink {
		p.links = slices.Clone(r.Links)
	}
	if r.Revoke {
		p.step(node.Event{Type: node.Told, Until: p.ledger.Told()})
	}
	if !p.slow {
		for len(p.writes) > 0 {
			p.write()
		}
	}
}

var errDisk = errors.New("the disk is full")

// write ends the oldest write.
func (p *process) write() {
	w := p.writes[0]
	p.writes = p.writes[1:]
	if p.broken {
		if p.failed++; p.failed > 100 {
			p.t.Fatal("it writes again and again to a disk that is broken")
		}
		p.say("write %d fails", w.Number)
		p.carryOut(p.node.Advance(p.clocks(), w.Number, errDisk))
		return
	}
	p.disk = w
	p.carryOut(p.node.Advance(p.clocks(), w.Number, nil))
}

func (p *process) say(format string, args ...any) {
	p.said = append(p.said, fmt.Sprintf(format, args...))
}

func describe(m node.Message) string {
	switch m.Type {
	case node.Election:
		return fmt.Sprintf("%s to %s", m.Election.Kind, m.To)
	case node.Question:
		return "question to " + m.To
	case node.Answer:
		return "answer " + m.Follows
	case node.LeaseRequest:
		return fmt.Sprintf("%s %s to %s", m.Request.Kind, m.Request.Epoch, m.To)
	default:
		return fmt.Sprintf("%s %s granted %t", m.Response.Kind, m.Response.Epoch, m.Response.Granted)
	}
}

// did is what the node has said since it was asked last.
func (p *process) did() string {
	said := strings.Join(p.said, "; ")
	p.said = nil
	return said
}

// until lets time pass as the node wants it.
func (p *process) until(what string, done func() bool) {
	p.t.Helper()
	for range 1000 {
		if done() {
			return
		}
		p.now = max(p.next, p.now+ms)
		p.step(node.Event{Type: node.Tick})
	}
	p.t.Fatalf("it never happens: %s", what)
}

// pass lets time pass.
func (p *process) pass(d time.Duration) {
	p.t.Helper()
	end := p.now + d
	for p.next < end {
		p.now = max(p.next, p.now+1)
		p.step(node.Event{Type: node.Tick})
	}
	p.now = end
	p.step(node.Event{Type: node.Tick})
}

func (p *process) receive(from string, m node.Message) {
	p.step(node.Event{
		Type:        node.Received,
		From:        from,
		StateID:     "state-" + from,
		Incarnation: 1,
		Message:     m,
	})
}

// request brings a request of the lease protocol.
func (p *process) request(from string, k lease.Kind, ballot int64) {
	p.receive(from, node.Message{
		Type:    node.LeaseRequest,
		ReplyTo: from,
		Request: lease.Request{
			Kind:  k,
			Group: "g",
			Epoch: lease.NewEpoch(1, ballot),
			Lease: leaseTime,
		},
	})
}

// grant has a process grant the last request that it got.
func (p *process) grant(from string) {
	p.t.Helper()
	for _, m := range slices.Backward(p.sent) {
		if m.To == from && m.Type == node.LeaseRequest {
			p.receive(from, node.Message{Type: node.LeaseResponse, Response: lease.Response{
				Kind:       m.Request.Kind,
				Epoch:      m.Request.Epoch,
				Round:      m.Request.Round,
				Granted:    true,
				Generation: m.Request.Epoch.Generation(),
				Candidate:  true,
			}})
			return
		}
	}
	p.t.Fatalf("%s was not asked for anything", from)
}

// deny has a process answer the last request that it got: it would not, and hears nobody.
func (p *process) deny(from string) {
	p.t.Helper()
	p.answer(from, func(*lease.Response) {})
}

// answer has a process answer the last request that it got. It would not grant it, and says what
// say adds.
func (p *process) answer(from string, say func(*lease.Response)) {
	p.t.Helper()
	for _, m := range slices.Backward(p.sent) {
		if m.To == from && m.Type == node.LeaseRequest {
			r := lease.Response{Kind: m.Request.Kind, Epoch: m.Request.Epoch, Round: m.Request.Round, Generation: 1}
			say(&r)
			p.receive(from, node.Message{Type: node.LeaseResponse, Response: r})
			return
		}
	}
	p.t.Fatalf("%s was not asked for anything", from)
}

// hold brings P3 so far that it holds the lease, and that its app was told so.
func (p *process) hold() {
	p.t.Helper()
	p.grant("P1") // PREVOTE
	p.grant("P1") // VOTE
	if _, ok := p.ledger.Use(p.now); !ok {
		p.t.Fatalf("%s does not hold the lease: %s", p.name, p.did())
	}
	p.did()
}

func (p *process) named() string { return p.node.Election().State().Coordinator }

func electionMessage(k election.Kind, from string) node.Message {
	return node.Message{
		Type:      node.Election,
		Algorithm: "Bully",
		Election: election.Message{
			Kind:     k,
			Election: election.ID{Initiator: from, Incarnation: 1, Sequence: 1},
			Process:  from,
		},
	}
}
