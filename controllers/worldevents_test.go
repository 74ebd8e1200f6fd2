package controllers

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// What may happen in the world.

// join has an agent connect and report, with what it uses.
func (w *world) join() {
	if a := w.pick(func(a *agent) bool { return a.lives() && !a.connected }); a != nil {
		a.connected = true
		w.report(a, func(*roster.Report) {})
		w.note("%s (%s) joins", a.pod.Name, a.life)
	}
}

func (w *world) report(a *agent, edit func(*roster.Report)) {
	seen := w.sightings[a.pod.UID]
	if !seen.Connected {
		seen.Since = w.now
	}
	seen.Name, seen.UID, seen.Connected = a.pod.Name, string(a.pod.UID), true
	seen.Report = roster.Report{StateID: a.life[len(a.pod.UID)+1:], Generation: a.using}
	edit(&seen.Report)
	w.sightings[a.pod.UID] = seen
}

// take has an agent take the newest roster, if it is on it, and report so.
func (w *world) take(a *agent) {
	r := w.observation.published.Roster
	if a == nil || r == nil || !slices.ContainsFunc(r.Members, func(m v1.RosterMember) bool { return m.UID == a.pod.UID }) {
		return
	}
	if a.using != r.Generation {
		w.leave(a, w.rosters[r.Generation].lease)
		a.using = r.Generation
	}
	if w.random.IntN(4) > 0 { // else the report is still under way
		w.report(a, func(*roster.Report) {})
	}
}

// leave notes until when promises of an agent may run that takes a roster with that lease: it renews those of the one before for a
// lease more (V4), but none for longer than the new roster's lease (V5).
func (w *world) leave(a *agent, longest time.Duration) {
	if a.using != 0 {
		a.used[a.using] = w.now.Add(lease.Outlast(2 * w.rosters[a.using].lease))
	}
	for generation, until := range a.used {
		if own := w.rosters[generation].lease; own > longest {
			a.used[generation] = earlier(until, w.now.Add(lease.Outlast(own)))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (w *world) disconnect() {
	if a := w.pick(func(a *agent) bool { return a.lives() && a.connected }); a != nil {
		w.hangUp(a)
		w.note("%s is out of sight", a.life)
	}
}

func (w *world) hangUp(a *agent) {
	seen := w.sightings[a.pod.UID]
	if a.connected && seen.Connected {
		seen.Connected, seen.Since = false, w.now
		w.sightings[a.pod.UID] = seen
	}
	a.connected = false
}

// end ends an agent in truth. Whether anybody gets to know is another thing.
func (w *world) end(a *agent) {
	w.hangUp(a)
	a.ended = w.now
}

func (w *world) kill() {
	if a := w.pick((*agent).lives); a != nil {
		w.end(a)
		w.note("%s is killed", a.life)
	}
}

// evict: Kubernetes calls a pod Failed, as it does when its node is lost; the pod may run on.
func (w *world) evict() {
	if a := w.pick(func(a *agent) bool { return w.inAPI(a) && !ended(a.pod) }); a != nil {
		a.pod.Status.Phase, a.pod.Status.Conditions = corev1.PodFailed, nil
		w.note("%s is called Failed", a.life)
	}
}

// deleteGracefully asks a pod to end; as a rule its agent says that it leaves, as its last word.
func (w *world) deleteGracefully() {
	a := w.pick(func(a *agent) bool { return w.inAPI(a) && a.pod.DeletionTimestamp == nil })
	if a == nil {
		return
	}
	a.pod.DeletionTimestamp, a.pod.DeletionGracePeriodSeconds = &metav1.Time{Time: w.now.Add(2 * time.Second)}, new(int64(2))
	w.note("%s is deleted", a.life)
	if a.lives() && a.connected && w.random.IntN(2) == 0 {
		w.report(a, func(r *roster.Report) { r.Leaving = true })
		w.end(a)
		w.note("%s leaves", a.life)
	}
}

// deleteByForce takes a pod out of the API, whatever its agent does.
func (w *world) deleteByForce() {
	if a := w.pick(w.inAPI); a != nil {
		w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p == a.pod })
		w.note("%s is deleted by force", a.life)
	}
}

// kubeletTells reports that a pod has ended whose agent has; then the pod may go.
func (w *world) kubeletTells() {
	a := w.pick(func(a *agent) bool { return !a.lives() && w.inAPI(a) && w.newestOf(a.pod) == a })
	if a == nil {
		return
	}
	a.pod.Status.Phase, a.pod.Status.Conditions = corev1.PodFailed, overConditions
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	a.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: over}, {Name: v1.AgentContainer, State: over}}
	w.note("the kubelet says that %s has ended", a.life)
	if w.random.IntN(2) == 0 { // and the informer's event is all that is left of it
		w.endings[a.pod.UID] = w.now
		w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p == a.pod })
	}
}

// rebootRack has kubelets report the containers that they are about to start again, and then lose the API server, which evicts the pods.
func (w *world) rebootRack() {
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for range 1 + w.random.IntN(4) {
		a := w.pick(func(a *agent) bool {
			return a.lives() && w.inAPI(a) && a.pod.DeletionTimestamp == nil && w.newestOf(a.pod) == a
		})
		if a == nil {
			return
		}
		a.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: over}, {Name: v1.AgentContainer, State: over}}
		a.pod.DeletionTimestamp, a.pod.DeletionGracePeriodSeconds = &metav1.Time{Time: w.now.Add(2 * time.Second)}, new(int64(2))
		a.connected = false
		w.note("the containers of %s are started again, and its pod is deleted", a.life)
	}
}

// drain ends several pods at once, and all is known of it at once.
func (w *world) drain() {
	for range 1 + w.random.IntN(4) {
		if a := w.pick(func(a *agent) bool { return a.lives() && w.inAPI(a) }); a != nil {
			w.end(a)
			w.endings[a.pod.UID] = w.now
			w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return p == a.pod })
			w.note("%s is drained", a.life)
		}
	}
}

func (w *world) newestOf(pod *corev1.Pod) (newest *agent) {
	for _, a := range w.agents {
		if a.pod == pod {
			newest = a
		}
	}
	return newest
}

// loseMemory has an agent start again without its memory: another life in the same pod.
func (w *world) loseMemory() {
	a := w.pick(func(a *agent) bool { return a.lives() && w.inAPI(a) && w.newestOf(a.pod) == a && len(a.life) < 20 })
	if a == nil {
		return
	}
	w.end(a)
	w.agents = append(w.agents, &agent{pod: a.pod, life: a.life + "m", used: map[int64]time.Time{},
		mute: w.now.Add(lease.Outlast(milliseconds(w.longest())))})
	w.note("%s has lost its memory", a.life)
}

func (w *world) longest() int32 {
	if r := w.observation.published.Roster; r != nil {
		return r.LongestLeaseMilliseconds
	}
	return 1000
}

// restartManager forgets all but what is persisted.
func (w *world) restartManager() {
	w.ledger, w.begun = ledger{}, w.now
	clear(w.sightings)
	clear(w.endings)
	for _, a := range w.agents {
		a.connected = false
	}
	w.note("the manager starts again")
}

func (w *world) editLease() {
	leases := []int32{400, 1000, 3000}
	w.group.Spec.Timing.LeaseMilliseconds = leases[w.random.IntN(len(leases))]
	w.note("the lease is %d ms now", w.group.Spec.Timing.LeaseMilliseconds)
}

// calm has nothing bad happen for a while: all that live connect, and the kubelet tells of all that do not.
func (w *world) calm() {
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool { return ended(p) || p.DeletionTimestamp != nil })
	for _, a := range w.agents {
		if a.lives() && !w.inAPI(a) {
			w.end(a)
		}
		if !a.lives() {
			w.endings[a.pod.UID] = w.now
		}
	}
	for _, a := range w.agents {
		if a.lives() {
			delete(w.endings, a.pod.UID)
			a.connected = true
			w.report(a, func(*roster.Report) {})
		}
	}
	for range 300 {
		w.now = w.now.Add(100 * time.Millisecond)
		for _, a := range w.agents {
			if a.lives() {
				w.take(a)
			}
		}
		w.pass()
		w.check()
	}
}

// Whatever happens, in whatever order, voters change one at a time or have ended, and no two majorities that could act are without
// a common voter. When it is calm again, all that live vote.
func TestVotersInAWorldOfTrouble(t *testing.T) {
	for seed := range uint64(300) { // 258 and 265 end a wait of R4 that is too short
		inTrouble(newWorld(t, seed))
	}
}

func inTrouble(w *world) {
	for range 3 + w.random.IntN(3) {
		w.newPod()
	}
	for range 150 {
		w.happens()
	}
	w.calm()
	voters := votersIn(w.observation.published.Roster)
	for _, a := range w.agents {
		if votes := slices.ContainsFunc(voters, func(m v1.RosterMember) bool { return lifeOf(m) == a.life }); votes != a.lives() {
			w.fail("%s lives: %v, votes: %v", a.life, a.lives(), votes)
		}
	}
}
