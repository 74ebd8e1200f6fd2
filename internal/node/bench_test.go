package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// What a heartbeat of a Guarded group costs a process.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{5, 100} {
		for role, start := range roles {
			b.Run(fmt.Sprintf("%s/%d", role, n), func(b *testing.B) {
				heartbeat := start(b, n)
				b.ReportAllocs()
				for b.Loop() {
					heartbeat()
				}
			})
		}
	}
}

// A Node uses the memory of its Ready again: it is valid until the next Step or Advance only.
func TestAHeartbeatAllocatesNothing(t *testing.T) {
	for role, start := range roles {
		for _, size := range []int{5, 100} {
			if n := testing.AllocsPerRun(100, start(t, size)); n != 0 {
				t.Errorf("%s of %d: %v allocations a heartbeat", role, size, n)
			}
		}
	}
}

// roles start a process in a group of n; each returns what happens to it in a heartbeat.
var roles = map[string]func(tb testing.TB, n int) (heartbeat func()){
	"leaseholder": leads,
	"follower":    follows,
}

// leads starts a leaseholder, which renews at everybody and takes their answers.
func leads(tb testing.TB, n int) func() {
	p := join(tb, n, n)
	for _, k := range []lease.Kind{lease.PreVote, lease.Vote} {
		p.answer(tb, k)
	}
	return func() {
		p.now += 100 * ms
		p.step(tb, node.Event{Type: node.Tick})
		p.answer(tb, lease.Renew)
		if p.permission.Deadline <= p.now {
			tb.Fatalf("it holds the lease until %v at %v", p.permission.Deadline, p.now)
		}
	}
}

// follows starts a follower, which grants what the leaseholder asks for.
func follows(tb testing.TB, n int) func() {
	p := join(tb, n, 1)
	leaseholder := fmt.Sprintf("P%d", n)
	renewal := lease.Request{
		Kind:  lease.Renew,
		Group: "g",
		Epoch: lease.NewEpoch(1, 1),
		Lease: leaseTime,
	}
	return func() {
		p.now += 100 * ms
		renewal.Round++
		p.receive(tb, leaseholder, node.Message{Type: node.LeaseRequest, Request: renewal})
		p.step(tb, node.Event{Type: node.Tick})
		if v := p.node.View(); v.Coordinator != leaseholder || !v.Bound {
			tb.Fatalf("it shows %+v", v)
		}
	}
}

// member is one Node whose disk is as fast as its memory.
type member struct {
	node       *node.Node
	now        time.Duration
	roster     *node.Roster
	asked      []node.Message // requests that it has sent, and that are not answered
	answering  []node.Message
	muted      map[string]bool // they answer nothing
	loses      bool            // it may lose its lease
	permission lease.Permission
}

// join starts process number k of a group of n, whose priorities are their numbers.
func join(tb testing.TB, n, k int) *member {
	r := newRoster(true)
	r.Members = voters(n, "P%d")
	m := &member{now: time.Hour, roster: r}
	self := r.Members[k-1]
	m.node = node.New(node.Config{
		Self:  lease.Incarnation{Name: self.Name, UID: self.UID, StateID: self.StateID, Number: 1},
		Saved: lease.State{Group: "g", Generation: 1, Voted: true},
		Now:   m.clocks(),
	})
	m.step(tb, node.Event{Type: node.RosterReceived, Roster: r})
	for _, q := range r.Members {
		if q.Name != self.Name {
			m.step(tb, node.Event{Type: node.LinkUp, From: q.Name})
		}
	}
	return m
}

func (m *member) clocks() lease.Reading {
	return lease.Reading{Boot: m.now, Raw: m.now, Wall: m.now}
}

func (m *member) step(tb testing.TB, e node.Event) {
	e.Now = m.clocks()
	r := m.node.Step(e)
	for r != nil {
		for i := range r.Messages {
			if r.Messages[i].Type == node.LeaseRequest {
				m.asked = append(m.asked, r.Messages[i])
			}
		}
		m.permission = r.Permission
		if r.Revoke && !m.loses {
			tb.Fatal("it revokes the permission")
		}
		if r.Write == nil {
			return
		}
		r = m.node.Advance(m.clocks(), r.Write.Number, nil)
	}
}

func (m *member) receive(tb testing.TB, from string, message node.Message) {
	i := slices.IndexFunc(m.roster.Members, func(q lease.Member) bool { return q.Name == from })
	m.step(tb, node.Event{
		Type:        node.Received,
		From:        from,
		StateID:     m.roster.Members[i].StateID,
		Incarnation: 1,
		Message:     message,
	})
}

// mute has a process answer nothing from now on.
func (m *member) mute(name string) {
	if m.muted == nil {
		m.muted = map[string]bool{}
	}
	m.muted[name] = true
}

// answer has everybody grant what the process has asked for.
func (m *member) answer(tb testing.TB, kinds ...lease.Kind) {
	m.answering, m.asked = m.asked, m.answering[:0]
	for i := range m.answering {
		q := &m.answering[i].Request
		if !slices.Contains(kinds, q.Kind) || m.muted[m.answering[i].To] {
			continue
		}
		m.receive(tb, m.answering[i].To, node.Message{Type: node.LeaseResponse, Response: lease.Response{
			Kind:       q.Kind,
			Epoch:      q.Epoch,
			Round:      q.Round,
			Granted:    true,
			Generation: q.Epoch.Generation(),
			Candidate:  true,
		}})
	}
}
