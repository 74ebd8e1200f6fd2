package group

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// maxRows is how many rows the process status table may have (see api/v1).
const maxRows = 512

// process is everything that is known of one process.
type process struct {
	name     string
	priority int32
	pod      *corev1.Pod      // nil: there is none
	member   bool             // it is on the roster
	joined   bool             // its agent has joined, now or under an earlier manager
	seen     *roster.Sighting // nil: its agent has not reported to this manager
	accusers int              // connected peers that report it as crashed, or as not answering
	accused  bool             // there are some, and no connected process follows it
	crashed  bool             // one of them reports that its link to it was closed or refused
	mute     bool             // it is connected, and the process that leads gets no answer from it
	last     *lastRow         // its row in the published table; nil: there is none
	stands   time.Time        // until when that row stands, if nothing tells more
	guarded  bool             // it follows, and claims, under an epoch only
	aside    bool             // an operator keeps it from coordinating
	voted    bool             // it is on the roster as a voter, and its pod is gone
	witness  bool             // it votes and never coordinates
	label    string           // from which it has its priority, as key=value; empty: from none
	fallback bool             // its priority is the default, though the spec derives it from the pod

	agent        v1.AgentState // what is wrong with its agent; empty if nothing is
	agentVersion string        // of an agent that is outdated
}

// lastRow is a row of the published table, with what it says by leaving it out.
type lastRow struct {
	v1.ProcessStatus

	follows string
	epoch   int64
}

// connected reports whether what the process tells is fresh.
func (p process) connected() bool { return p.member && p.seen != nil && p.seen.Connected }

// follows returns the process that a connected process follows; empty while it elects.
func (p process) follows() string {
	switch {
	case !p.connected():
		return ""
	case p.guarded && !follows(p.seen.Report) || !p.guarded && p.seen.Report.Electing:
		return ""
	default:
		return p.seen.Report.Coordinator
	}
}

// epoch returns the epoch under which a connected process follows.
func (p process) epoch() int64 {
	if !p.guarded || p.follows() == "" {
		return 0
	}
	return p.seen.Report.Epoch
}

// claims reports whether a process last said that it is the coordinator itself.
func (p process) claims() bool {
	if p.seen == nil || p.seen.Report.Coordinator != p.name {
		return false
	}
	if p.guarded {
		return p.seen.Report.LeaseState == roster.LeaseHolding
	}
	return !p.seen.Report.Electing
}

// dead reports whether a process does not run, as far as is known, or its peers take it for failed.
// An open subscription beats all hearsay: what the API server shows of a container may be old, and
// a peer may only have lost its own link.
func (p process) dead() bool {
	switch {
	case p.pod == nil || finished(p.pod):
		return true
	case p.connected():
		return false
	case agentEnded(p.pod):
		return true
	case p.seen != nil && p.seen.Report.Leaving:
		return true
	default:
		return p.joined &&
			p.accused // before it has joined, a refused link only means that it is not up yet
	}
}

// neverSeen reports whether the spec names a process, and there has been no pod of that name since
// it does: nothing has crashed.
func (p process) neverSeen() bool {
	return p.pod == nil && !p.voted && (p.last == nil || p.last.State == v1.ProcessUnknown)
}

// silent reports whether only its peers take a process for failed, and nothing shows that it has
// ended.
func (p process) silent() bool {
	return p.pod != nil && !finished(p.pod) && !agentEnded(p.pod) && !p.crashed &&
		(p.seen == nil || !p.seen.Report.Leaving)
}

// agentEnded reports whether the kubelet shows the agent's container as not running after it ran.
func agentEnded(pod *corev1.Pod) bool {
	status := &pod.Status
	for _, s := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if s.Name != v1.AgentContainer {
			continue
		}
		return s.State.Terminated != nil ||
			s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
	}
	return false
}

// processesOf returns what is known of each process: the pods of the group, and those that the spec
// names or that still vote but that do not exist. If there are more than the table holds, pods that
// have finished are left out first, and those that are on the roster last.
func processesOf(o observation) []process {
	published := map[string]*lastRow{}
	for i := range o.published.Processes {
		last := lastRow{ProcessStatus: o.published.Processes[i]}
		last.follows, last.epoch = o.published.Followed(&last.ProcessStatus)
		published[last.Name] = &last
	}
	var members, alive, rest []process
	named := map[string]bool{}
	for _, pod := range o.pods {
		earlier := recorded(o.published.Roster, pod)
		p := process{
			name:    pod.Name,
			witness: isWitness(pod, earlier),
			label:   priorityLabel(&o.group.Spec, pod, earlier),
			pod:     pod,
			member:  !finished(pod),
			last:    published[pod.Name],
		}
		if seen, ok := o.sightings[pod.UID]; ok {
			p.seen, p.joined, p.stands = &seen, true, o.backUntil(seen.Since)
		} else if earlier != nil && isVoter(*earlier) {
			p.joined, p.stands = true, o.reportsUntil()
		}
		judgeAgent(&p, o.version)
		named[p.name] = true
		switch {
		case p.member && earlier != nil:
			members = append(members, p)
		case p.member:
			alive = append(alive, p)
		default:
			rest = append(rest, p)
		}
	}
	var missing []process
	miss := func(name string, voted, witness bool, label string) {
		if named[name] {
			return
		}
		named[name] = true
		missing = append(missing, process{
			name:    name,
			voted:   voted,
			witness: witness,
			label:   label,
			last:    published[name],
		})
	}
	if guarded(o.group) { // a voter whose pod is gone may still be needed for a majority
		for _, m := range votersIn(o.published.Roster) {
			miss(m.Name, true, ptr.Deref(m.Witness, false), priorityLabel(&o.group.Spec, nil, &m))
		}
	}
	for _, p := range o.group.Spec.Processes {
		miss(p.Name, false, false, "")
	}
	all := slices.Concat(members, alive, missing, rest)
	all = all[:min(len(all), maxRows)]
	slices.SortFunc(all, func(a, b process) int { return membership.CompareNames(a.name, b.name) })
	for i := range all {
		p := &all[i]
		if !p.witness { // whose priority is 0, whatever the spec says
			p.priority, p.fallback = priorityOf(&o.group.Spec, p.name, p.label)
		}
		p.guarded = guarded(o.group)
		p.aside = standsAside(o.published.Roster, p.name)
	}
	accuse(all)
	silence(all)
	return all
}

// silence marks processes that do not answer the leaseholder, though their subscriptions are open.
// One that stands still keeps its connections for seconds. If such a process says the same of the
// leaseholder, the two are cut off from each other, and both run. Classic groups have no
// leaseholder: a process that one side does not reach may coordinate the other side.
func silence(all []process) {
	leads := leaseholder(all)
	if leads != nil {
		for i := range all {
			p := &all[i]
			if p == leads || !p.connected() {
				continue
			}
			theirs, ours := leads.shows(p.name), p.shows(leads.name)
			p.mute = theirs == roster.NotAnswering && !failed(ours) && !p.seen.Report.Leaving &&
				p.follows() != "" // a new process has yet to get its roster
			// p has asked the voters about the one that leads. If that ran, it would miss p by now.
			if ours == roster.NotAnswering && !failed(theirs) &&
				p.seen.Report.LeaseState == roster.LeaseNoMajority {
				leads.mute = true
			}
		}
	}
	if leads == nil || leads.mute {
		silenceMajority(all)
	}
}

// silenceMajority marks processes that stand still while nobody leads. Such a process still says
// that it follows a leaseholder, and does not answer a peer. The peer either finds no majority, or
// is that leaseholder and has lost its lease. A process that ran would have noticed that, too.
func silenceMajority(all []process) {
	for i := range all {
		p := &all[i]
		if !p.guarded || p.follows() == "" || p.seen.Report.Leaving {
			continue
		}
		p.mute = p.mute || slices.ContainsFunc(all, func(q process) bool {
			knows := q.connected() && q.name != p.name &&
				(q.seen.Report.LeaseState == roster.LeaseNoMajority ||
					q.name == p.follows() && !q.claims())
			return knows && q.shows(p.name) == roster.NotAnswering && !failed(p.shows(q.name))
		})
	}
}

// leaseholder returns the process that leads, as it says itself; nil if none does.
func leaseholder(all []process) (leads *process) {
	followers := map[string]int{}
	for i := range all {
		followers[all[i].follows()]++
	}
	for i := range all {
		p := &all[i]
		if p.guarded && p.connected() && p.claims() && (leads == nil || p.epoch() > leads.epoch() ||
			p.epoch() == leads.epoch() && followers[p.name] > followers[leads.name]) {
			leads = p
		}
	}
	return leads
}

// shows returns the state of another process in the table of a connected one.
func (p *process) shows(name string) string {
	for _, row := range p.seen.Report.Table {
		if row.Name == name {
			return row.State
		}
	}
	return ""
}

// failed reports whether a process that an agent shows so is taken for failed.
func failed(state string) bool { return state == roster.Crashed || state == roster.NotAnswering }

// accuse counts who reports a process as failed, and marks those that no connected process
// follows: one peer may only have lost its own link.
func accuse(all []process) {
	accusers, crashed := map[string]int{}, map[string]bool{}
	followed := map[string]bool{}
	for _, p := range all {
		if !p.connected() {
			continue
		}
		followed[p.follows()] = true
		for _, row := range p.seen.Report.Table {
			if failed(row.State) && row.Name != p.name {
				accusers[row.Name]++
				crashed[row.Name] = crashed[row.Name] || row.State == roster.Crashed
			}
		}
	}
	for i := range all {
		all[i].accusers, all[i].crashed = accusers[all[i].name], crashed[all[i].name]
		all[i].accused = all[i].accusers > 0 && !followed[all[i].name]
	}
}

// rowOf returns a process's row in the process status table, and when time alone would change it;
// zero: never.
func rowOf(p process, chosen choice,
	now time.Time) (row v1.ProcessStatus, recheck time.Duration) {
	row = v1.ProcessStatus{
		Name:         p.name,
		Priority:     new(p.priority),
		Agent:        p.agent,
		AgentVersion: p.agentVersion,
		Connected:    new(false),
	}
	switch {
	case p.neverSeen():
		row.State = v1.ProcessUnknown
	case p.mute, p.dead() && p.silent():
		row.State = v1.ProcessNotAnswering
	case p.dead():
		row.State = v1.ProcessCrashed
	case p.connected():
		row.State = v1.ProcessNormal
		row.Connected, row.NotCandidate = new(true), notCandidate(p, chosen.name)
		if p.name == chosen.name && p.claims() {
			row.State = v1.ProcessCoordinator
		}
		tellView(&row, p.follows(), p.epoch(), chosen)
	case p.last != nil && now.Before(p.stands):
		row.State = p.last.State
		row.Connected, row.NotCandidate = p.last.Connected, p.last.NotCandidate
		if row.State == v1.ProcessCoordinator && p.name != chosen.name {
			row.State = v1.ProcessNormal
		}
		if ptr.Deref(row.Connected, false) {
			tellView(&row, p.last.follows, p.last.epoch, chosen)
		}
		if p.seen == nil { // this manager has not heard yet which version it is
			row.Agent, row.AgentVersion = p.last.Agent, p.last.AgentVersion
		}
		recheck = p.stands.Sub(now)
	default:
		row.State = v1.ProcessUnknown
	}
	return row, recheck
}

// tellView writes whom a connected process follows, and under which epoch, if the status says
// something else of the coordinator. So a failover changes few rows. Followed in api/v1 reads it.
func tellView(row *v1.ProcessStatus, follows string, epoch int64, chosen choice) {
	switch {
	case follows == "" && chosen.name != "":
		row.Electing = new(true)
	case follows != chosen.name:
		row.Follows, row.Epoch = follows, epoch
	case epoch != chosen.epoch:
		row.Epoch = epoch
	}
}

// departing reports whether a process is on its way out or gone: its pod is being deleted, has
// finished, or does not exist any more.
func departing(pod *corev1.Pod) bool {
	return pod == nil || pod.DeletionTimestamp != nil || finished(pod)
}

// reportingVoters returns how many voters report, as the table shows it. A process with the name of
// a voter whose pod is gone is another one.
func reportingVoters(rows []v1.ProcessStatus, r *v1.RosterStatus) (n int) {
	connected := map[string]bool{}
	for _, row := range rows {
		connected[row.Name] = ptr.Deref(row.Connected, false)
	}
	for _, m := range votersIn(r) {
		if connected[m.Name] && m.GoneSince.IsZero() {
			n++
		}
	}
	return n
}

// runningOf returns how many processes on the roster run, of how many that are on it, such as 4/5.
func runningOf(rows []v1.ProcessStatus, r *v1.RosterStatus) string {
	running, members := 0, map[string]bool{}
	if r != nil {
		for _, m := range r.Members {
			members[m.Name] = true
		}
	}
	for _, row := range rows {
		runs := row.State == v1.ProcessNormal || row.State == v1.ProcessCoordinator
		if runs && members[row.Name] {
			running++
		}
	}
	return fmt.Sprintf("%d/%d", running, len(members))
}
