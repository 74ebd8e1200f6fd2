package controllers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// world is a cluster with a Guarded group in it, as it truly is; the manager under test sees what a manager would see of it.
type world struct {
	*scene
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	agents  []*agent
	rosters map[int64]*charter
	made    int      // pods so far
	log     []string // of what happened, newest last
}

// agent is one life of a voter: a pod with one memory.
type agent struct {
	pod       *corev1.Pod
	life      string
	connected bool
	using     int64               // the generation that it uses
	used      map[int64]time.Time // until when its promises may run under a generation that it uses no more
	ended     time.Time           // when it truly did; zero: it lives
	mute      time.Time           // until when it promises nothing, having lost the memory of an earlier life (V1)
}

// charter is a roster as it was handed out.
type charter struct {
	voters []string // lives
	lease  time.Duration
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{scene: newScene(0), t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), rosters: map[int64]*charter{}}
	w.group.Spec.Safety, w.group.Spec.Timing.LeaseMilliseconds = v1.Guarded, 1000
	w.endings = map[types.UID]time.Time{}
	return w
}

// newPod makes a pod with a free name, and its agent.
func (w *world) newPod() {
	if len(w.pods) == 7 {
		return
	}
	name := ""
	for i := 0; name == "" || slices.ContainsFunc(w.pods, func(p *corev1.Pod) bool { return p.Name == name }); i++ {
		name = fmt.Sprintf("p-%d", i)
	}
	w.made++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(fmt.Sprintf("uid-%d", w.made))},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: v1.AgentContainer}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.0.%d", w.made%250)}}
	w.pods = append(w.pods, pod)
	w.agents = append(w.agents, &agent{pod: pod, life: string(pod.UID) + "/m", used: map[int64]time.Time{}})
	slices.SortFunc(w.pods, func(a, b *corev1.Pod) int { return compareNatural(a.Name, b.Name) })
}

// pass is a pass of the manager; what it persists is checked against the truth.
func (w *world) pass() {
	w.t.Helper()
	w.ledger = w.ledger.advance(w.observation)
	d := decideRoster(w.observation)
	if d.record == nil {
		return
	}
	w.checkStep(votersIn(w.observation.published.Roster), votersIn(d.record))
	w.observation.published.Roster = d.record
	if w.rosters[d.record.Generation] != nil {
		return // the same roster: it was only told more about
	}
	c := &charter{lease: d.roster.Lease}
	for _, m := range votersIn(d.record) {
		c.voters = append(c.voters, lifeOf(m))
	}
	w.rosters[d.record.Generation] = c
	w.note("generation %d: %v", d.record.Generation, c.voters)
}

// checkStep is R3: one goes or one comes, or several go that have truly ended; the first voters may be any.
func (w *world) checkStep(was, is []v1.RosterMember) {
	w.t.Helper()
	has := func(all []v1.RosterMember, m v1.RosterMember) bool {
		return slices.ContainsFunc(all, func(o v1.RosterMember) bool { return lifeOf(o) == lifeOf(m) })
	}
	came, wentLive, went := 0, 0, 0
	for _, m := range is {
		if !has(was, m) {
			came++
		}
	}
	for _, m := range was {
		if !has(is, m) {
			went++
			if i := slices.IndexFunc(w.agents, func(a *agent) bool { return a.life == lifeOf(m) }); w.agents[i].ended.IsZero() {
				wentLive++
			}
		}
	}
	if len(was) > 0 && (came+wentLive > 1 || came > 0 && went > 0) {
		w.fail("in one step %d came and %d went, %d of them alive", came, went, wentLive)
	}
}

// able says whether a life may be bound by a promise under a generation now: it uses it, or its last such promise runs.
func (w *world) able(a *agent, generation int64) bool {
	runs := lease.Outlast(w.rosters[generation].lease)
	if !a.ended.IsZero() && w.now.Sub(a.ended) >= runs {
		return false
	}
	if until, left := a.used[generation]; left {
		return w.now.Before(until)
	}
	return a.using == generation && !w.now.Before(a.mute)
}

// check is G1 as far as the roster can break it: there are no two majorities, of whatever rosters, without a common voter, all
// of whose members may be bound by a promise now.
func (w *world) check() {
	w.t.Helper()
	able := map[int64][]string{}
	for generation, c := range w.rosters {
		for _, a := range w.agents {
			if slices.Contains(c.voters, a.life) && w.able(a, generation) {
				able[generation] = append(able[generation], a.life)
			}
		}
		if len(able[generation]) < majority(len(c.voters)) {
			delete(able, generation)
		}
	}
	for g, some := range able {
		for h, others := range able {
			union := slices.Clone(some)
			for _, life := range others {
				if !slices.Contains(union, life) {
					union = append(union, life)
				}
			}
			if needed := majority(len(w.rosters[g].voters)) + majority(len(w.rosters[h].voters)); g < h && len(union) >= needed {
				w.fail("two may act: under %d with %v of %v, and under %d with %v of %v", g, some, w.rosters[g].voters, h, others,
					w.rosters[h].voters)
			}
		}
	}
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v "+format, append([]any{w.now.Sub(noon)}, args...)...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log[max(len(w.log)-40, 0):] {
		w.t.Log(line)
	}
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

// pick draws an agent that is as wanted; nil if there is none.
func (w *world) pick(want func(*agent) bool) *agent {
	var some []*agent
	for _, a := range w.agents {
		if want(a) {
			some = append(some, a)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[w.random.IntN(len(some))]
}

func (a *agent) lives() bool { return a.ended.IsZero() }

func (w *world) inAPI(a *agent) bool { return slices.Contains(w.pods, a.pod) }

// happens has something happen, most often something harmless.
func (w *world) happens() {
	w.now = w.now.Add(time.Duration(w.random.IntN(400)) * time.Millisecond)
	deeds := []func(){w.newPod, w.kill, w.deleteGracefully, w.deleteByForce, w.loseMemory, w.disconnect, w.restartManager, w.editLease,
		w.evict, w.drain, w.rebootRack, w.kubeletTells, w.kubeletTells, w.join, w.join, w.join}
	if i := w.random.IntN(3 * len(deeds)); i < len(deeds) {
		deeds[i]()
	} else {
		w.take(w.pick(func(a *agent) bool { return a.lives() && a.connected }))
	}
	w.check()
	if w.random.IntN(3) > 0 {
		w.pass()
		w.check()
	}
}
