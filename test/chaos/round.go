package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
)

// recovery is how long after a fault a group may be without a process that acts.
const recovery = 30 * time.Second

// field is the groups as they are when a round begins; each pod is hit once in a round at most.
type field struct {
	pods map[*group][]*corev1.Pod

	mu      sync.Mutex
	hit     map[string]bool // pods
	ended   map[string]bool // containers and pods, by their IDs
	strikes []*strike
	unwell  map[*group]error // what did not come right again in time
}

// strike is what a fault did to a group.
type strike struct {
	report.Strike
	group *group
	at    register.Instant
	until register.Instant // the fault was over
	// missed: nothing was hit.
	missed bool
}

// round lets the faults strike, waits until all is well again, and tells what came of each. A hasty
// round ends when all pods run and somebody acts: the status, the voters and the coordinator's role
// may lag, but not of a group that survives one failure only, because the next one would be its
// second.
func (r *runner) round(ctx context.Context, groups []*group, faults round, hasty bool) error {
	if err := r.backend.Keep(ctx); err != nil {
		return err
	}
	r.report.Rounds++
	f := &field{
		pods:   map[*group][]*corev1.Pod{},
		hit:    map[string]bool{},
		ended:  map[string]bool{},
		unwell: map[*group]error{},
	}
	for _, g := range groups {
		f.pods[g] = r.scene.podsOf(g.name)
	}
	failed := backend.Each(faults, func(fault fault) error {
		signals.Wait(ctx, fault.delay)
		if err := r.strike(ctx, fault, groups, f); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	unwell := backend.Each(groups, func(g *group) error {
		settled := r.settled
		if hasty && g.bears() {
			settled = r.running
		}
		err := errors.Join(r.acts(ctx, g, f), settled(ctx, g, f.ended))
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unwell[g] = err
		return err
	})
	r.tell(f)
	return errors.Join(unwell, ctx.Err(), r.backend.Keep(ctx))
}

// strike lets one fault strike all groups.
func (r *runner) strike(ctx context.Context, fault fault, groups []*group, f *field) error {
	switch fault.scope {
	case aNode:
		return r.strikeAll(ctx, fault, groups, f, r.pickNode(fault, groups[fault.which%len(groups)]))
	case theWorld:
		return r.strikeAll(ctx, fault, groups, f, "")
	case aPod:
		return backend.Each(groups, func(g *group) error {
			if fault.delay > 0 && !g.bears() {
				return nil
			}
			victim, others := f.victim(fault, g, r.scene.last(g.name).Process)
			s := f.begin(r, fault, g, victim.Name)
			s.Coordinator = victim.Name == s.Before.Process
			f.end(fault, victim)
			var err error
			s.at, err = r.strikePod(ctx, fault, victim, others)
			return s.over(err)
		})
	case aGroup:
		return backend.Each(groups, func(g *group) error {
			if fault.name == scaleDown && g.witness {
				return nil // one pod and a witness survive no failure
			}
			s := f.begin(r, fault, g, "")
			for _, p := range f.pods[g] {
				f.end(fault, p)
			}
			var err error
			s.at, err = r.strikeGroup(ctx, fault, g)
			return s.over(err)
		})
	default:
		return fmt.Errorf("%s strikes nothing", fault.name)
	}
}

// strikeAll lets a fault strike all groups at once: a node, or what is around them.
func (r *runner) strikeAll(
	ctx context.Context, fault fault, groups []*group, f *field, victim string,
) (failed error) {
	strikes := make([]*strike, len(groups))
	for i, g := range groups {
		strikes[i] = f.begin(r, fault, g, victim)
		if p := r.scene.pod(strikes[i].Before.Process); p != nil && victim != "" {
			strikes[i].Coordinator = p.Spec.NodeName == victim
		}
		for _, p := range f.pods[g] {
			if p.Spec.NodeName == victim {
				f.end(fault, p)
			}
		}
	}
	var at register.Instant
	var err error
	if fault.scope == aNode {
		at, err = r.strikeNode(ctx, fault, victim)
	} else {
		at, err = r.strikeWorld(ctx, fault, groups)
	}
	for _, s := range strikes {
		s.at, failed = at, s.over(err)
	}
	return failed
}

// over notes the end of a strike, and whether it hit anything: that it did not is no failure.
func (s *strike) over(err error) error {
	s.until = register.Now()
	if s.missed = errors.Is(err, backend.ErrMissed); s.missed {
		return nil
	}
	return err
}

// begin notes a strike that is about to be.
func (f *field) begin(r *runner, fault fault, g *group, victim string) *strike {
	s := &strike{
		group: g,
		at:    register.Now(),
		Strike: report.Strike{
			Round:        r.report.Rounds,
			Group:        g.name,
			Class:        fault.class,
			Fault:        fault.name,
			Victim:       victim,
			Milliseconds: float64(fault.length.Milliseconds()),
			Before:       r.scene.last(g.name),
		},
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.strikes = append(f.strikes, s)
	return s
}

// end notes what a fault ends of a pod.
func (f *field) end(fault fault, p *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := backend.Containers(p)
	switch fault.name {
	case killNode:
		f.ended[ids[v1.AgentContainer]], f.ended[ids[backend.AppContainer]] = true, true
	case deletePod, forceDelete, drainNode:
		f.ended[string(p.UID)] = true
	case rollingRestart: // of the set, not of its witness
		f.ended[string(p.UID)] = p.Labels[v1.WitnessLabel] == ""
	default:
		for _, c := range fault.containers {
			if fault.class == report.Kill {
				f.ended[ids[c]] = true
			}
		}
	}
}

// victim picks the pod for a fault: the one that acts, or another, that was not hit in this round;
// and those that are left.
func (f *field) victim(
	fault fault, g *group, acts string,
) (victim *corev1.Pod, others []*corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(f.pods[g]), func(p *corev1.Pod) bool {
		return f.hit[p.Name]
	})
	candidates := slices.DeleteFunc(slices.Clone(left), func(p *corev1.Pod) bool {
		return (p.Name == acts) != fault.coordinator
	})
	if len(candidates) == 0 {
		candidates = left
	}
	victim = candidates[fault.which%len(candidates)]
	f.hit[victim.Name] = true
	return victim, slices.DeleteFunc(slices.Clone(f.pods[g]), func(p *corev1.Pod) bool {
		return p == victim
	})
}

// pickNode is the worker for a fault: that of a coordinator, or any.
func (r *runner) pickNode(fault fault, g *group) string {
	if p := r.scene.pod(r.scene.last(g.name).Process); fault.coordinator && p != nil {
		return p.Spec.NodeName
	}
	return r.Workers[fault.which%len(r.Workers)]
}

// acts awaits that a process of the group writes under a permission that it got after the last
// fault was over.
func (r *runner) acts(ctx context.Context, g *group, f *field) error {
	over := register.Instant(0)
	for _, s := range f.strikes {
		if s.group == g {
			over = max(over, s.until)
		}
	}
	ctx, cancel := backend.Within(ctx, recovery, "nobody acts")
	defer cancel()
	return r.scene.await(ctx, func() string {
		taken := r.scene.line(g.name).Taken
		if n := len(taken); n > 0 && timeline.Proven(taken[n-1], over, longestLease) {
			return ""
		}
		return g.name + ": no write that is permitted after the fault"
	})
}

// tell completes the round's strikes, as far as it can before the logs are read, and prints them.
func (r *runner) tell(f *field) {
	now := register.Now()
	slices.SortStableFunc(f.strikes, func(a, b *strike) int { return int(a.at - b.at) })
	r.scene.mu.Lock()
	defer r.scene.mu.Unlock()
	for _, s := range f.strikes {
		if s.missed {
			r.report.Missed++
			r.table.say("%s: it hit nothing of %s, which had just ended by itself", s.Fault,
				cmp.Or(s.Victim, "what is around the pods"))
			continue
		}
		line, span := r.scene.line(s.Group), timeline.Span{From: s.at, To: now}
		s.Second = s.at.Sub(r.begun).Seconds()
		s.Before = line.Last(s.at)
		asked := s.Class == report.Edit || s.Class == report.Leave && s.Coordinator
		first, at, ok := line.After(span, s.Before, asked, longestLease)
		if s.OK = ok && f.unwell[s.group] == nil; ok {
			s.First = first
			s.Times = line.Times(span, s.Before, first, at)
		}
		s.Overlapping = slices.ContainsFunc(f.strikes, func(other *strike) bool {
			return other != s && other.group == s.group
		})
		if err := f.unwell[s.group]; err != nil {
			s.Problem = err.Error()
		} else if !ok {
			s.Problem = "nobody acts"
			r.problem(fmt.Sprintf("%s, %s: nobody acts", s.Group, s.Fault))
		}
		if late := impossible(s.Strike); late != "" {
			r.problem(fmt.Sprintf("%s, %s: %s", s.Group, s.Fault, late))
		}
		r.strikes = append(r.strikes, s)
		r.table.row(s.Strike)
	}
}
