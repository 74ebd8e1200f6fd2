package node_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// growing is every map and slice of a Node that members can make longer than one entry for each
// process, with the most that it holds in a group of n. A path is that of the fields.
var growing = map[string]func(n int) int{
	// two messages of each member wait for the end of a lease, and two for the next roster
	"waiting.messages": func(n int) int { return 2 * n },
	"early.messages":   func(n int) int { return 2 * n },
	// a ring keeps what it sent last, what elections at once collect, and of each initiator's newest
	// election what has passed: four kinds at most, about each process or about none
	"election.algorithm.ring.outbox":       func(n int) int { return 2 * n },
	"election.algorithm.collected":         func(n int) int { return 2 * n },
	"election.algorithm.active":            func(n int) int { return 2 * n },
	"election.algorithm.ring.trips.passed": func(n int) int { return 4 * (n + 1) },
	// the newest messages of an election, for trace
	"episode.lines":      func(int) int { return 64 },
	"view.Last.Messages": func(int) int { return 64 },
	"view.Last.Late":     func(int) int { return 64 },
	// writes under way, and two responses that wait for each of them (V11)
	"writes.outstanding": func(int) int { return 64 },
	"lease.disk.waiting": func(int) int { return 2 * 64 },
}

// G13: whatever members say, no map or slice of a Node grows beyond its bound. The table above
// has all whose bound is not the number of processes.
func TestNothingGrowsBeyondItsBound(t *testing.T) {
	const n = 5
	for _, algorithm := range election.Algorithms() {
		for _, guarded := range []bool{false, true} {
			for _, slow := range []bool{false, true} {
				name := fmt.Sprintf("%s, guarded %t, a disk that hangs %t", algorithm, guarded, slow)
				t.Run(name, func(t *testing.T) {
					r := newRoster(guarded)
					r.Algorithm, r.Members = algorithm, voters(n, "P%d")
					p := start(t, "P2", r)
					p.slow = slow
					flood := flood{rand.New(rand.NewPCG(1, 2)), r}
					for range 10_000 {
						p.now += flood.pause()
						p.step(flood.event())
						p.sent, p.said, p.notes = nil, nil, nil
					}
					seen := map[uintptr]bool{}
					measure(reflect.ValueOf(p.node), "", seen, func(path string, length int) {
						most := n + 1
						if bound, ok := growing[path]; ok {
							most = bound(n)
						}
						if length > most {
							t.Errorf("%s has %d entries; at most %d may be", path, length, most)
						}
					})
				})
			}
		}
	}
}

// flood draws what a member that is no friend may send.
type flood struct {
	*rand.Rand
	roster *node.Roster
}

func pick[T any](f flood, from ...T) T { return from[f.IntN(len(from))] }

func (f flood) name() string {
	if f.IntN(4) == 0 {
		return fmt.Sprintf("stranger-%d", f.IntN(1e6))
	}
	return pick(f, "P1", "P2", "P3", "P4", "P5", "")
}

func (f flood) epoch() lease.Epoch {
	return lease.NewEpoch(1+f.Int64N(20)/19, f.Int64N(40))
}

func (f flood) event() node.Event {
	e := node.Event{
		Type:        node.Received,
		From:        pick(f, "P1", "P3", "P4", "P5"),
		Incarnation: 2,
	}
	e.StateID = pick(f, "state-"+e.From, f.name())
	switch f.IntN(20) {
	case 0:
		e.Type = pick(f, node.LinkUp, node.LinkDown, node.LinkDropped)
	case 1:
		e.Type = node.Tick
	default:
		e.Message = f.message()
	}
	return e
}

func (f flood) message() node.Message {
	m := node.Message{
		Type:       node.MessageType(f.IntN(9)),
		Algorithm:  f.roster.Algorithm,
		Sequence:   f.Uint64N(1e6),
		Generation: 1,
		Follows:    f.name(),
		Request: lease.Request{
			Kind: pick(f, lease.PreVote, lease.Vote, lease.Renew, lease.StepDown, lease.Release,
				lease.Transfer, lease.TakeOver),
			Group:     "g",
			Epoch:     f.epoch(),
			Round:     f.Uint64(),
			Lease:     time.Duration(f.Int64N(int64(2 * leaseTime))),
			Heartbeat: time.Duration(f.Int64N(int64(leaseTime))),
			Heir:      f.name(),
		},
		Response: lease.Response{
			Kind:        pick(f, lease.PreVote, lease.Vote, lease.Renew, lease.Transfer),
			Epoch:       f.epoch(),
			Round:       f.Uint64N(100),
			Granted:     f.IntN(2) == 0,
			Candidate:   f.IntN(2) == 0,
			Generation:  f.Int64N(1e6),
			Highest:     f.epoch(),
			Holder:      f.name(),
			HolderEpoch: f.epoch(),
			Remaining:   time.Duration(f.Int64N(int64(leaseTime))),
			Heard:       f.IntN(2) == 0,
		},
		Election: election.Message{
			Kind: pick(f, election.Election, election.OK, election.Coordinator, election.Request,
				election.StatusTable, election.Update, election.ElectMe, election.NewCoordinator,
				election.Elect, election.ElectNobody, election.Inquiry, election.Reply, election.View,
				election.Kind(f.name())),
			Process: f.name(),
			Hops:    f.IntN(14) - 2,
			Election: election.ID{
				Initiator:   f.name(),
				Incarnation: f.Uint64N(3),
				Sequence:    f.Uint64N(3),
			},
		},
	}
	for range f.IntN(9) {
		m.Election.List = append(m.Election.List, f.name())
		m.Election.Table = append(m.Election.Table, election.Entry{Name: f.name()})
	}
	return m
}

// measure calls back for each map and slice within a value, with the path of fields to it.
func measure(v reflect.Value, path string, seen map[uintptr]bool, found func(string, int)) {
	switch v.Kind() { //nolint:exhaustive // the other kinds do not grow
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Kind() == reflect.Pointer && seen[v.Pointer()] {
			return
		}
		if v.Kind() == reflect.Pointer {
			seen[v.Pointer()] = true
		}
		measure(v.Elem(), path, seen, found)
	case reflect.Struct:
		for i := range v.NumField() {
			measure(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), seen, found)
		}
	case reflect.Map:
		found(path, v.Len())
		for _, key := range v.MapKeys() {
			measure(v.MapIndex(key), path, seen, found)
		}
	case reflect.Slice:
		found(path, v.Len())
		for i := range v.Len() {
			measure(v.Index(i), path, seen, found)
		}
	}
}

// pause is how long the members say nothing: seldom for longer than a lease.
func (f flood) pause() time.Duration {
	if f.IntN(200) == 0 {
		return time.Duration(f.IntN(int(3 * leaseTime)))
	}
	return time.Duration(f.IntN(int(2 * ms)))
}
