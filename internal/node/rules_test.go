package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// build starts a process whose build has this newest rules level, with a roster; nil: with none.
func build(t *testing.T, name string, newest int32, saved lease.State, r *node.Roster) *process {
	t.Helper()
	p := boot(t, name, saved)
	p.config.Rules = newest
	p.node = node.New(p.config)
	if r != nil {
		p.step(node.Event{Type: node.RosterReceived, Roster: r})
	}
	return p
}

// voted is the state of a voter that has been one for long.
var voted = lease.State{Group: "g", Generation: 1, Voted: true}

// ofLevel returns the next generation, with another rules level.
func ofLevel(r *node.Roster, level int32) *node.Roster {
	return edited(r, func(r *node.Roster) { r.Rules = level })
}

// MC11: a process uses a roster of its newest rules level, and of the one below. One of another
// level it refuses, and says so.
func TestRostersOfARulesLevel(t *testing.T) {
	for _, test := range []struct {
		newest, level int32
		refused       string // empty: it is not
	}{
		{0, 0, ""}, {0, 1, ""}, {1, 0, ""}, {2, 0, ""}, {2, 1, ""}, {2, 2, ""},
		{0, 2, "the roster is of rules level 2, and this agent supports at most 1"},
		{1, 3, "the roster is of rules level 3, and this agent supports at most 1"},
		{3, 0, "the roster is of rules level 1, and this agent supports no level below 2"},
	} {
		p := build(t, "P2", test.newest, voted, nil)
		p.step(node.Event{Type: node.RosterReceived, Roster: ofLevel(newRoster(true), test.level)})
		said := ""
		for _, n := range p.notes {
			if _, ok := errors.AsType[*lease.RulesError](n.Err); ok && n.Type == node.Refused {
				said = n.Err.Error()
			}
		}
		if used := p.node.View().Member; used != (test.refused == "") || !strings.HasPrefix(said, test.refused) || used != (said == "") {
			t.Errorf("newest %d, level %d: used %t, said %q", test.newest, test.level, used, said)
		}
	}
	classic := edited(newRoster(false), func(r *node.Roster) { r.Rules = 7 })
	if p := build(t, "P2", 1, voted, classic); !p.node.View().Member {
		t.Error("a Classic group has no rules level, and its roster was refused")
	}
}

// MC11: a process that refuses a newer roster stays with the one that it has: it votes under that
// one, and not under the newer. It asks nobody for the newer one again, until there is another.
func TestRefusedRosterIsAsIfUnheard(t *testing.T) {
	r := newRoster(true)
	p := build(t, "P2", 1, voted, r)
	p.now += 2 * r.Lease
	refused := ofLevel(r, 2)
	p.step(node.Event{Type: node.RosterReceived, Roster: refused})
	if v := p.node.View(); v.Generation != 1 || v.Acknowledged != 1 || p.disk.Roster.Generation != 1 {
		t.Fatalf("it uses generation %d, acknowledges %d, keeps %d", v.Generation, v.Acknowledged,
			p.disk.Roster.Generation)
	}
	p.asks(2)
	if n := p.count(node.RosterRequest); n != 0 {
		t.Errorf("%d requests for a roster that it refused", n)
	}
	p.asks(3)
	if n := p.count(node.RosterRequest); n != 1 {
		t.Errorf("%d requests for a newer one", n)
	}
	p.did()
	p.requestOf("P3", 1, lease.Vote, lease.NewEpoch(2, 1))
	if did := p.did(); strings.Contains(did, "granted true") {
		t.Errorf("it votes under the generation that it refused: %s", did)
	}
	p.requestOf("P3", 1, lease.Vote, lease.NewEpoch(1, 1))
	if did := p.did(); !strings.Contains(did, "granted true") {
		t.Errorf("it does not vote under the one that it has: %s", did)
	}
	third := ofLevel(refused, 1)
	p.step(node.Event{Type: node.RosterReceived, Roster: third})
	if v := p.node.View(); v.Generation != 3 {
		t.Errorf("a roster that it supports comes, and it uses %d", v.Generation)
	}
}

// MC11: what it has refused of one group object says nothing of another one.
func TestRefusedRosterOfAnotherGroup(t *testing.T) {
	r := newRoster(true)
	of := func(group string, generation int64, level int32) *node.Roster {
		return edited(ofLevel(r, level), func(r *node.Roster) { r.Group, r.Generation = group, generation })
	}
	for name, rosters := range map[string][]*node.Roster{
		"it refused one of another group":       {r, of("h", 9, 2)},
		"it refused one, and was in that group": {r, of("g", 9, 2), of("h", 1, 1)},
	} {
		p := build(t, "P2", 1, voted, nil)
		for _, r := range rosters {
			p.step(node.Event{Type: node.RosterReceived, Roster: r})
		}
		p.asks(5)
		if n := p.count(node.RosterRequest); n != 1 {
			t.Errorf("%s: %d requests for a newer one of its group", name, n)
		}
	}
}

// MC11: an agent that was rolled back under a roster of a newer level starts with it in its state
// directory. It answers nothing, and forgets nothing: when it is upgraded again, it votes as
// before.
func TestRolledBackUnderARoster(t *testing.T) {
	r := ofLevel(newRoster(true), 2)
	p := build(t, "P2", 2, voted, r)
	p.now += 2 * r.Lease
	epoch := lease.NewEpoch(r.Generation, 1)
	p.requestOf("P3", 1, lease.Vote, epoch)
	if did := p.did(); !strings.Contains(did, "granted true") {
		t.Fatalf("a first vote: %s", did)
	}
	saved := p.disk.Lease
	old := build(t, "P2", 1, saved, r)
	old.now = p.now + time.Hour
	old.requestOf("P1", 1, lease.Vote, epoch)
	if did := old.did(); strings.Contains(did, "granted") || old.node.View().Member {
		t.Errorf("rolled back, it answers: %s", did)
	}
	again := build(t, "P2", 2, saved, r)
	again.now = p.now + time.Hour
	again.requestOf("P1", 1, lease.Vote, epoch)
	if did := again.did(); strings.Contains(did, "granted true") {
		t.Errorf("upgraded again, it gives its vote of before to another: %s", did)
	}
}
