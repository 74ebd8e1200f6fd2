package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/node"
)

// api is what the API server holds: the group object, its status with the newest roster, the pods.
type api struct {
	group     int  // which object of the name it is
	made      Time // when that was made
	version   int  // of its status: how many rosters were persisted under the name
	rosters   []roster
	algorithm string
	lease     time.Duration
	settings  string
	pods      []pod    // by place
	ended     []string // UIDs of pods that their kubelets reported as over
	stepDown  membership.StepDownRequest
	stepDowns int // how many there were
}

// roster is a roster as it was persisted, and as agents are told it.
type roster struct {
	group   int
	members *membership.Roster
	node    *node.Roster
}

// pod is a pod of the group as the API shows it.
type pod struct {
	there    bool // it exists and carries the label; it may run or not
	uid      int
	priority int32
	deleting Time // since when; 0: it is not being deleted
	witness  bool // it is marked as one
	grace    Time // the grace period of its deletion
	made     Time
}

// longestGrace is the longest grace period of a pod's deletion.
const longestGrace = 30 * Time(time.Second)

// groups are the UIDs of the group objects of the name, one after the other.
var groups = [...]string{"", "A", "B", "C", "D", "E", "F", "G", "H"}

// establish makes the group object and its pods.
func (w *World) establish(priorities []int32) {
	n := len(priorities)
	a := &w.api
	*a = api{
		group:     1,
		algorithm: w.Algorithm,
		lease:     w.Options.Lease.Lease,
		rosters:   a.rosters[:0],
		pods:      again(a.pods, n),
		ended:     a.ended[:0],
	}
	a.writeSettings()
	for p := range n {
		a.pods[p] = pod{
			there:    p < w.Processes,
			uid:      1,
			priority: priorities[p],
			witness:  w.isWitness(int32(p)),
			made:     Time(p/2) * Time(time.Second), // some in one second
		}
	}
	w.oracles = w.oracles[:0]
	w.newOracle()
	for i := range w.managers {
		m := &w.managers[i]
		m.begin(n)
		if rate := min(w.Rate, 95); rate > 0 {
			m.rate += int64(w.rng.IntN(2*rate*1000+1) - rate*1000)
		}
		if w.Astray && i == int(w.Seed/9%2) {
			m.astray = 2 * aDay * time.Duration(1-int(w.Seed/18%2)*2)
		}
		w.plan(w.within(T), Looks, manageTask, int32(i))
	}
}

// writeSettings writes down what agents are told beside the members.
func (a *api) writeSettings() { a.settings = a.algorithm + " " + a.lease.String() }

// roster is what was persisted as the n-th; nil if n is 0.
func (a *api) roster(n int) *roster {
	if n == 0 {
		return nil
	}
	return &a.rosters[n-1]
}

// newest is the roster in the status; nil: there is none.
func (a *api) newest() *roster {
	if r := a.roster(a.version); r != nil && r.group == a.group && r.members != nil {
		return r
	}
	return nil
}

// newestEver is the roster of the group with the highest generation, whatever the status was set
// back to.
func (a *api) newestEver() (newest *roster) {
	for i := range a.rosters {
		r := &a.rosters[i]
		if r.group == a.group && r.node != nil &&
			(newest == nil || r.node.Generation > newest.node.Generation) {
			newest = r
		}
	}
	return newest
}

// persisted is the roster as it was persisted that agents were told as n; nil: it never was.
func (a *api) persisted(n *node.Roster) *membership.Roster {
	for i := range a.rosters {
		if a.rosters[i].node == n {
			return a.rosters[i].members
		}
	}
	return nil
}

// learnEnd: a kubelet has said that a pod is over.
func (a *api) learnEnd(number uint64, _ Time) {
	a.ended = append(a.ended, uidOf(int32(number>>8), int(number&255)))
}

func (r *roster) String() string {
	if r == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %s lease %s", r.node.Group, r.node.Generation, r.node.Algorithm,
		r.node.Lease)
	if r.node.Rules > 1 {
		fmt.Fprintf(&b, " rules %d", r.node.Rules)
	}
	b.WriteByte(':')
	for _, q := range r.node.Members {
		voter := ""
		if q.Voter {
			voter = "*"
		}
		fmt.Fprintf(&b, " %s%s=%d(%s)", q.UID, voter, q.Priority, q.StateID)
	}
	return b.String()
}

// remake deletes the group and makes another of the same name.
func (w *World) remake() {
	if w.api.group+1 >= len(groups) || w.rng.IntN(4) > 0 {
		return
	}
	w.api.group++
	w.api.made, w.api.stepDown = w.now, membership.StepDownRequest{}
	w.newOracle()
	w.tell("the group is deleted and made again: %s", groups[w.api.group])
}

// editLease makes the lease longer or shorter.
func (w *World) editLease() {
	w.api.lease = time.Duration([]int{400, 700, 1000, 2000, 3000}[w.rng.IntN(5)]) * time.Millisecond
	w.api.writeSettings()
}

// editGroup edits the group, or scales it.
func (w *World) editGroup() {
	a := &w.api
	p := w.someone()
	switch w.rng.IntN(7) {
	case 0, 1:
		a.pods[p].priority = int32(1 + w.rng.IntN(2*len(w.processes)))
	case 2:
		a.pods[p].priority = 0
	case 3:
		if w.podCount() > 1 {
			w.deletePod(p)
		}
	case 4, 5:
		w.addPod(p)
	case 6:
		if w.Switch {
			a.algorithm = election.Algorithms()[w.rng.IntN(len(election.Algorithms()))]
			a.writeSettings()
		} else {
			w.replacePod()
		}
	}
}

// podCount is how many pods the group has.
func (w *World) podCount() (n int) {
	for i := range w.api.pods {
		if w.api.pods[i].there && w.api.pods[i].deleting == 0 {
			n++
		}
	}
	return n
}

// deletePod deletes a pod: at once, or in its grace period, in which the agent hands over.
func (w *World) deletePod(p int32) {
	pod := &w.api.pods[p]
	if !pod.there || pod.deleting != 0 || w.mustStay(p) {
		return
	}
	if w.rng.IntN(2) == 0 || w.processes[p].node == nil || w.processes[p].replacedUntil != 0 {
		w.removePod(p)
		return
	}
	w.endWithin(p, []Time{longestGrace / 30, longestGrace / 6, longestGrace}[w.rng.IntN(3)])
}

// endWithin begins a pod's grace period.
func (w *World) endWithin(p int32, grace Time) {
	pod := &w.api.pods[p]
	pod.deleting, pod.grace = max(w.now, 1), grace
	w.leave(p)
}

// removePod ends a pod and its agent for good. That becomes known, or it does not.
func (w *World) removePod(p int32) {
	pod, v := &w.api.pods[p], &w.processes[p]
	if !pod.there {
		return
	}
	if v.replacedUntil != 0 {
		w.removeReplaced(p)
		return
	}
	pod.there, pod.deleting = false, 0
	w.halt(p)
	v.up, v.gone = false, true
	v.app = app{keeps: v.app.keeps}
	w.tell("pod %s is gone", uidOf(p, pod.uid))
	if !w.chance(w.Unsure) {
		w.plan(w.now+1+w.lasting(10*T), Faults, endedTask, p).number = uint64(p)<<8 | uint64(pod.uid)
	}
}

// addPod makes a pod for a name that has none.
func (w *World) addPod(p int32) {
	pod, v := &w.api.pods[p], &w.processes[p]
	if pod.there || v.replacedUntil != 0 || v.uid+1 >= maxPods || v.disk.number+1 >= maxStateIDs {
		return
	}
	v.uid++
	v.disk = disk{number: v.disk.number + 1, turn: v.disk.turn}
	v.gone, v.up = false, false
	pod.there, pod.uid, pod.deleting, pod.witness = true, v.uid, 0, w.isWitness(p)
	pod.made = w.now
	if pod.priority == 0 {
		pod.priority = int32(1 + w.rng.IntN(2*len(w.processes)))
	}
	w.plan(w.now+w.lasting(10*T), Faults, startTask, p)
}

// replacePod is a step of a rolling restart: a pod ends, and a new one of that name begins.
func (w *World) replacePod() {
	p := w.target()
	if w.api.pods[p].there && w.api.pods[p].deleting == 0 && !w.mustStay(p) {
		w.removePod(p)
		w.addPod(p)
	}
}

// roll is a step of a rollout: a new pod comes under a free name, and an old one is deleted.
func (w *World) roll() {
	for p := range int32(len(w.processes)) {
		if !w.api.pods[p].there {
			w.addPod(p)
			break
		}
	}
	if w.podCount() > 1 {
		w.deletePod(w.target())
	}
}

// voters is how many of the members vote.
func voters(members []lease.Member) (n int) {
	for i := range members {
		if members[i].Voter {
			n++
		}
	}
	return n
}
