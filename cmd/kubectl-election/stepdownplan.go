package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// stepDownPlan is a request to step down, and what is to be expected of it.
type stepDownPlan struct {
	uid      types.UID         // of the group
	group    string            // with its namespace, for people
	shown    display.Group     // as it is when the request that stands has been replaced
	replaces *display.StepDown // nil: none stands
	request  v1.StepDownRequest
	next     display.Process // who is expected to take over
	over     bool            // the manager has ended it because another process coordinated
}

// newStepDownPlan returns the plan for a group as it is, or what makes the request pointless. The
// manager judges anew.
func newStepDownPlan(g *v1.ElectionGroup, asked stepDownOptions,
	now time.Time) (stepDownPlan, error) {
	p := stepDownPlan{
		uid:      g.UID,
		group:    g.Namespace + "/" + g.Name,
		shown:    display.Of(withoutStepDown(g), now),
		replaces: display.Of(g, now).StepDown,
	}
	c := g.Status.Coordinator
	if c == nil || g.Status.Roster == nil {
		return p, refusal("nobody coordinates group %s, as far as the manager knows: there is nobody "+
			"to step down. To see why: kubectl election explain %s -n %s", p.group, g.Name, g.Namespace)
	}
	p.request = v1.StepDownRequest{
		ID:         asked.id(),
		Generation: g.Status.Roster.Generation,
		Process:    v1.StepDownProcess{Name: c.Name, UID: uidOn(g.Status.Roster, c.Name)},
		Epoch:      c.Epoch,
		Seconds:    int64(asked.stays / time.Second),
	}
	if p.request.Process.UID == "" {
		return p, refusal("%s coordinates group %s, and is not on the roster: its pod has just gone or "+
			"been replaced. Try again", display.Printable(c.Name, 253), p.group)
	}
	if err := p.choose(asked.to); err != nil {
		return p, err
	}
	if asked.to != "" {
		p.request.To = &v1.StepDownProcess{Name: asked.to, UID: uidOn(g.Status.Roster, asked.to)}
	}
	if p.request.Seconds == 0 && p.takesOverAtOnce() {
		return p, refusal("%s ranks higher than %s and would take over again at once: %s. Say for how "+
			"long it is to stand aside, for instance --for 10m", c.Name, p.next.Name, p.preemption())
	}
	return p, nil
}

// withoutStepDown returns a group in which no request to step down stands: there is one at most,
// and a new one replaces it. The process that has stepped down by it is a candidate again, unless
// it reports another reason.
func withoutStepDown(g *v1.ElectionGroup) *v1.ElectionGroup {
	g = g.DeepCopy()
	if g.Status.Roster != nil {
		g.Status.Roster.StepDown = nil
	}
	for i := range g.Status.Processes {
		if row := &g.Status.Processes[i]; row.NotCandidate == v1.NotCandidateSteppedDown {
			row.NotCandidate = ""
		}
	}
	return g
}

// choose finds who is expected to take over: the named process, or the highest other candidate.
func (p *stepDownPlan) choose(name string) error {
	if name != "" && name == p.request.Process.Name {
		return refusal("%s coordinates already: name another process in --to", name)
	}
	for _, q := range p.shown.Processes {
		switch {
		case q.Name == p.request.Process.Name:
		case q.Name == name && q.Standing != display.StandingCandidate:
			return refusal("%s cannot coordinate group %s: %s. Change that, or name another process in "+
				"--to", name, p.group, q.Standing.Means())
		case q.Name == name, name == "" && q.Standing == display.StandingCandidate:
			p.next = q
			return nil
		}
	}
	if name != "" {
		return refusal("%s is no process of group %s: it has %s", display.Printable(name, 253), p.group,
			p.names())
	}
	return refusal("no other process of group %s that reports to the manager is a candidate, so "+
		"nobody would coordinate. To see why: kubectl election explain %s", p.group, p.where())
}

// names are the group's processes besides the coordinator.
func (p *stepDownPlan) names() string {
	var names []string
	for _, q := range p.shown.Processes {
		if q.Name != p.request.Process.Name {
			names = append(names, q.Name)
		}
	}
	return display.Enumerate(names)
}

// where is how to name the group in another command.
func (p *stepDownPlan) where() string { return p.shown.Name + " -n " + p.shown.Namespace }

// outranks reports whether the process that steps down ranks above the next one. Equals in a
// Guarded group do not depose each other.
func (p *stepDownPlan) outranks() bool {
	c, policy := p.shown.Coordinator, p.shown.Preemption
	equals := policy != nil && p.next.Priority == c.Priority
	return !equals && !p.next.Outranks(c, policy)
}

// takesOverAtOnce reports whether the process takes over again when the request ends.
func (p *stepDownPlan) takesOverAtOnce() bool {
	policy := p.shown.Preemption
	return p.outranks() && (policy == nil || policy.Policy == string(v1.Always))
}

func (p *stepDownPlan) preemption() string {
	if p.shown.Preemption == nil {
		return "in a Classic group the highest candidate coordinates"
	}
	return "preemption is " + p.shown.Preemption.Policy
}

// explain says what will happen.
func (p *stepDownPlan) explain() string {
	var b strings.Builder
	c := p.shown.Coordinator
	under := ""
	if c.Epoch != "" {
		under = " under epoch " + c.Epoch
	}
	fmt.Fprintf(&b, "%s (priority %d) coordinates group %s%s.\n", c.Name, c.Priority, p.group, under)
	fmt.Fprintf(&b, "It is asked to step down. %s (priority %d), %s, is expected to take over.\n",
		p.next.Name, p.next.Priority, p.role())
	fmt.Fprintf(&b, "%s stands aside %s. The request ends early if nobody else coordinates for a "+
		"lease and 5 s.\n", c.Name, p.span())
	if p.replaces != nil {
		fmt.Fprintf(&b, "That replaces the request by which %s.\n", p.replaces.Text)
		fmt.Fprintf(&b, "%s may coordinate again from then on.\n", p.replaces.Process)
	}
	b.WriteString(p.afterwards())
	return b.String()
}

func (p *stepDownPlan) role() string {
	if p.request.To != nil {
		return "whom you name"
	}
	return "the highest other candidate"
}

// span is for how long the process stands aside.
func (p *stepDownPlan) span() string {
	if p.request.Seconds == 0 {
		return "until another process coordinates"
	}
	return "for " + display.Duration(time.Duration(p.request.Seconds)*time.Second)
}

// afterwards says who coordinates when the request has ended.
func (p *stepDownPlan) afterwards() string {
	c, policy := p.shown.Coordinator, p.shown.Preemption
	ends := "When the request ends"
	switch {
	case p.takesOverAtOnce():
		return fmt.Sprintf("%s, %s takes over again at once: %s.\n", ends, c.Name, p.preemption())
	case policy != nil && policy.Policy == string(v1.Never):
		return fmt.Sprintf("%s, %s goes on coordinating: preemption is Never.\n", ends, p.next.Name)
	case p.outranks():
		return fmt.Sprintf("%s, %s takes over again after %s: preemption is Delayed.\n", ends, c.Name,
			display.Duration(time.Duration(policy.StableSeconds)*time.Second))
	default:
		return fmt.Sprintf("%s, preemption decides as before.\n", ends)
	}
}

// uidOn returns the UID of the pod of that name on the roster; empty if there is none.
func uidOn(r *v1.RosterStatus, name string) types.UID {
	for _, m := range r.Members {
		if m.Name == name {
			return m.UID
		}
	}
	return ""
}

// answer reports whether the manager has taken up the request, and copies its record; an error says
// that it was refused.
func (p *stepDownPlan) answer(g *v1.ElectionGroup, record *v1.StepDownStatus) (bool, error) {
	if g.UID != p.uid {
		return false, refusal("group %s was deleted", p.group)
	}
	if g.Status.Roster == nil || g.Status.Roster.StepDown == nil ||
		g.Status.Roster.StepDown.ID != p.request.ID {
		return false, nil
	}
	*record = *g.Status.Roster.StepDown
	if why := refusals[record.Outcome]; why != "" {
		changed := "Nothing was changed"
		if p.replaces != nil {
			changed = "It has ended the request by which " + p.replaces.Process + " stood aside"
		}
		return false, refusal("the manager has refused the request: %s. %s; run the command again", why,
			changed)
	}
	return true, nil
}

// refusals are why the manager refuses a request.
var refusals = map[v1.StepDownOutcome]string{
	v1.StepDownOutdated:   "the roster or the coordinator has changed since you saw it",
	v1.StepDownNobodyElse: "no other process that reports to it is a candidate by now",
	v1.StepDownSuccessorUnfit: "the process in --to is no longer a candidate, or does not " +
		"report to it",
}

// stands says what the manager has recorded.
func (p *stepDownPlan) stands(record *v1.StepDownStatus) string {
	return display.Printable(record.Process, 253) + " stands aside until " + p.lasts(record)
}

// lasts is until when the request stands, as the manager has recorded it.
func (p *stepDownPlan) lasts(record *v1.StepDownStatus) string {
	if record.Until.IsZero() {
		return "another process coordinates"
	}
	return record.Until.UTC().Format("2006-01-02 15:04:05 UTC")
}

// handedOver reports whether another process coordinates; an error says that none will.
func (p *stepDownPlan) handedOver(g *v1.ElectionGroup) (bool, error) {
	roster := ptr.Deref(g.Status.Roster, v1.RosterStatus{})
	record, c := roster.StepDown, g.Status.Coordinator
	switch {
	case g.UID != p.uid:
		return false, refusal("group %s was deleted", p.group)
	case c != nil && c.Name != p.request.Process.Name:
		return true, nil
	case record == nil || record.ID != p.request.ID:
		return false, refusal("the request was taken back, or replaced by another one, before another " +
			"process coordinated")
	}
	switch record.Outcome {
	case v1.StepDownNobodyTookOver:
		return false, refusal("no other process coordinated for a lease and 5 s, so the manager has "+
			"ended the request. To see why: kubectl election explain %s", p.where())
	case v1.StepDownTimeOver:
		return false, refusal("the time that %s was to stand aside was over before another process "+
			"coordinated. Give a longer one with --for", p.request.Process.Name)
	case v1.StepDownHandedOver: // the roster says so before the status says who coordinates
		p.over = true
		return false, nil
	default:
		return false, nil
	}
}

// result says who coordinates, and what comes next.
func (p *stepDownPlan) result(c *v1.CoordinatorStatus, took time.Duration) string {
	under := ""
	if c.DisplayEpoch != "" {
		under = " under epoch " + display.Printable(c.DisplayEpoch, 32)
	}
	text := fmt.Sprintf("%s coordinates%s, %v after the request.\n", display.Printable(c.Name, 253),
		under, took.Round(time.Millisecond))
	if p.request.To != nil && c.Name != p.request.To.Name {
		text += fmt.Sprintf("That is not %s, which was overtaken, or failed.\n", p.request.To.Name)
	}
	return text
}

// refusal says why a group, as it is, cannot do what was asked.
func refusal(format string, args ...any) error {
	return &failure{exitRefused, fmt.Sprintf(format, args...), nil}
}
