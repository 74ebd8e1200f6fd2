package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// forgetPlan is which voters of a group would be held for ended.
type forgetPlan struct {
	group     string
	request   v1.ForgetRequest
	forgotten []v1.RosterMember
	states    map[string]v1.ProcessState
	staying   []string // the voters that there would be
	reporting int      // of them, those that report to the manager
}

// newForgetPlan says which voters of the group would be held for ended: those named, or, if none is, all that are out of the
// manager's sight. It is an error if nothing is to be forgotten there.
func newForgetPlan(g *v1.ElectionGroup, named []string) (forgetPlan, error) {
	p := forgetPlan{group: g.Name, states: map[string]v1.ProcessState{}}
	if g.Spec.Safety != v1.Guarded {
		return p, fmt.Errorf("group %s is %s: it needs no majority of voters, so there is none to forget", g.Name, g.Spec.Safety)
	}
	stalled := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != "MajorityLost" || g.Status.Roster == nil {
		return p, fmt.Errorf("group %s has not lost its majority (condition Stalled is not True with reason MajorityLost): "+
			"voters that are lost are removed by themselves", g.Name)
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
			return p, fmt.Errorf("%s is no voter of group %s", name, g.Name)
		}
	}
	if len(p.forgotten) == 0 {
		return p, fmt.Errorf("every voter of group %s reports to the manager: there is none to forget", g.Name)
	}
	return p, nil
}

// consider enters a voter: as one to be forgotten, or as one that stays.
func (p *forgetPlan) consider(m v1.RosterMember, named []string) error {
	state := p.states[m.Name]
	reports := m.GoneSince.IsZero() && (state == v1.ProcessNormal || state == v1.ProcessCoordinator)
	asked := slices.Contains(named, m.Name)
	switch {
	case asked && reports:
		return fmt.Errorf("%s reports to the manager: a voter that runs cannot be forgotten; delete its pod if it is to go", m.Name)
	case asked, len(named) == 0 && !reports:
		p.forgotten = append(p.forgotten, m)
		p.request.Processes = append(p.request.Processes, v1.ForgottenProcess{Name: m.Name, UID: m.UID})
	default:
		p.staying = append(p.staying, m.Name)
		if reports {
			p.reporting++
		}
	}
	return nil
}

// annotation is the plan as the manager reads it.
func (p forgetPlan) annotation() (string, error) {
	value, err := json.Marshal(p.request)
	return string(value), err
}

const forgetRisk = `
The group stands still because nothing tells that these have ended. If you go on, you answer for it that none of them runs
any more, also not on a machine that is merely cut off. If one does, two processes may act as the coordinator at the same
time; then only resources that check epochs refuse the older one. Make sure first: the machines are off, or the processes
are gone from them.
`

// explain says what would happen, and what it risks.
func (p forgetPlan) explain(out io.Writer, now time.Time) error {
	fmt.Fprintf(out, "These voters of group %s would be held for ended:\n\n", p.group)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tUID\tSTATE\tPOD")
	for _, m := range p.forgotten {
		pod := "there"
		if !m.GoneSince.IsZero() {
			pod = fmt.Sprintf("gone for %v", now.Sub(m.GoneSince.Time).Round(time.Second))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", m.Name, m.UID, p.states[m.Name], pod)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, forgetRisk)
	switch {
	case len(p.staying) == 0:
		fmt.Fprintln(out, "\nNo voter stays: the pods that are there will be the first ones of a new roster.")
	case p.reporting > len(p.staying)/2:
		fmt.Fprintf(out, "\nThese voters stay: %s.\n", strings.Join(p.staying, ", "))
	default:
		fmt.Fprintf(out, "\nThese voters stay: %s. Only %d of them report to the manager, which is no majority: the group would still\nstand still.\n",
			strings.Join(p.staying, ", "), p.reporting)
	}
	return nil
}

// answer is what a state of the group after the request says about it: done, if the roster records all that was asked for.
func (p forgetPlan) answer(g *v1.ElectionGroup) (done bool, err error) {
	r := g.Status.Roster
	if r == nil || r.Generation <= p.request.Generation {
		return false, nil
	}
	for _, asked := range p.request.Processes {
		for _, m := range r.Members {
			if m.UID == asked.UID && m.Voter != nil && *m.Voter && (m.Forgotten == nil || !*m.Forgotten) {
				return false, fmt.Errorf("the roster has changed while you decided (generation %d, you saw %d), or %s is back: "+
					"not all were forgotten; look again, and run it again if need be", r.Generation, p.request.Generation, m.Name)
			}
		}
	}
	return true, nil
}
