package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// forgetPlan lists the voters of a group that the manager is asked to treat as stopped.
type forgetPlan struct {
	group     string
	uid       types.UID // of the group
	request   v1.ForgetRequest
	forgotten []v1.RosterMember
	states    map[string]v1.ProcessState
	places    map[types.UID]place // of their pods, as far as they exist and are known
	staying   []string            // the voters that would remain, as they are printed
	reporting int                 // how many of the remaining voters report to the manager
}

// newForgetPlan returns the plan for the named voters or, without names, for all voters that do not
// report to the manager. It returns an error if there is nothing to forget, or if a named voter
// cannot be forgotten.
func newForgetPlan(g *v1.ElectionGroup, named []string) (forgetPlan, error) {
	p := forgetPlan{group: g.Name, uid: g.UID, states: map[string]v1.ProcessState{}}
	if g.Spec.Safety != v1.Guarded {
		return p, refusal(
			"group %s has safety %s, which needs no majority: there is nothing to forget",
			g.Name,
			g.Spec.Safety,
		)
	}
	stalled := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue ||
		stalled.Reason != "MajorityLost" ||
		g.Status.Roster == nil {
		return p, refusal(
			"group %s has not lost its majority (condition Stalled is not True with reason "+
				"MajorityLost): "+
				"the manager removes lost voters by itself",
			g.Name,
		)
	}
	for _, row := range g.Status.Processes {
		p.states[row.Name] = row.State
	}
	p.request.Generation = g.Status.Roster.Generation
	known := map[string]bool{}
	for _, m := range g.Status.Roster.Members {
		if m.Voter == nil || !*m.Voter {
			continue
		}
		known[m.Name] = true
		if err := p.consider(m, named); err != nil {
			return p, err
		}
	}
	for _, name := range named {
		if !known[name] {
			return p, refusal("%s is not a voter of group %s", name, g.Name)
		}
	}
	if len(p.forgotten) == 0 {
		return p, refusal(
			"every voter of group %s reports to the manager: there is nothing to forget",
			g.Name,
		)
	}
	return p, nil
}

// consider adds a voter to the plan, either as one to forget or as one that stays.
func (p *forgetPlan) consider(m v1.RosterMember, named []string) error {
	state := p.states[m.Name]
	reports := m.GoneSince.IsZero() && !isReplaced(m) &&
		(state == v1.ProcessNormal || state == v1.ProcessCoordinator)
	asked := slices.Contains(named, m.Name)
	switch {
	case asked && reports:
		return refusal(
			"%s reports to the manager: a running voter cannot be forgotten; to remove it, "+
				"delete its pod",
			m.Name,
		)
	case asked, len(named) == 0 && !reports:
		p.forgotten = append(p.forgotten, m)
		p.request.Processes = append(
			p.request.Processes,
			v1.ForgottenProcess{Name: m.Name, UID: m.UID},
		)
	default:
		p.staying = append(p.staying, display.Printable(m.Name, 253))
		if reports {
			p.reporting++
		}
	}
	return nil
}

// isReplaced reports whether another state directory reports in the voter's place. Its own agent
// may run on another machine.
func isReplaced(m v1.RosterMember) bool { return m.Replaced != nil && *m.Replaced }

const forgetRisk = `
The group is stopped because the termination of these voters is not confirmed. Continue only if you
are sure that none of them is still running, not even on a machine that is merely cut off from the
network. If one is, two processes may act as the coordinator at the same time, and then only
resources that check epochs refuse the older one. So make sure first that the machines are off, or
that the processes on them have ended.
`

// explain writes what would happen, and the risk of it.
func (p forgetPlan) explain(out io.Writer, now time.Time) error {
	fmt.Fprintf(out, "The manager will treat these voters of group %s as stopped:\n\n", p.group)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tUID\tSTATE\tPOD")
	for _, m := range p.forgotten {
		pod := "exists"
		if at, known := p.places[m.UID]; known {
			pod = at.text
		}
		if isReplaced(m) {
			pod = "came back with another state directory"
		}
		if !m.GoneSince.IsZero() {
			pod = fmt.Sprintf("gone for %v", now.Sub(m.GoneSince.Time).Round(time.Second))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", display.Printable(m.Name, 253),
			display.Printable(string(m.UID), 253), display.Printable(string(p.states[m.Name]), 253),
			pod)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, forgetRisk)
	switch {
	case len(p.staying) == 0:
		fmt.Fprintln(out, "\nNo voter remains: the pods that exist will form a new roster.")
	case p.reporting > len(p.staying)/2:
		fmt.Fprintf(out, "\nThese voters remain: %s.\n", strings.Join(p.staying, ", "))
	default:
		fmt.Fprintf(
			out,
			"\nThese voters remain: %s. Only %d of them report to the manager, which is not a "+
				"majority:\nthe group will stay stopped.\n",
			strings.Join(p.staying, ", "),
			p.reporting,
		)
	}
	return nil
}

// answer reports whether the roster of g records everything that was requested. It returns an error
// if the roster has changed without doing so.
func (p forgetPlan) answer(g *v1.ElectionGroup) (done bool, err error) {
	if g.UID != p.uid {
		return false, refusal("group %s was deleted", p.group)
	}
	r := g.Status.Roster
	if r == nil || r.Generation <= p.request.Generation {
		return false, nil
	}
	for _, asked := range p.request.Processes {
		for _, m := range r.Members {
			if m.UID == asked.UID && m.Voter != nil && *m.Voter &&
				(m.Forgotten == nil || !*m.Forgotten) {
				return false, fmt.Errorf(
					"not all voters were forgotten: the roster has changed (generation %d, you "+
						"saw %d), or %s has "+
						"reconnected; check kubectl get eg %s and run the command again if "+
						"necessary",
					r.Generation,
					p.request.Generation,
					display.Printable(m.Name, 253),
					p.group,
				)
			}
		}
	}
	return true, nil
}
