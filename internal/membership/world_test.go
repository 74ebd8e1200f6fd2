package membership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a cluster with a Guarded group in it, as it truly is; the manager under test sees what a
// manager would see of it.
type world struct {
	*scene
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	agents  []*agent
	rosters map[int64]*charter
	history []*Roster
	made    int // pods so far

	// replaces: machines are replaced, and the status is not set back: nobody would hear of a roster
	// that only machines know that are cut off.
	replaces bool
	log      []string // of what happened, newest last
}

// agent is one voter: a pod with one state directory.
type agent struct {
	name, uid, stateID string
	connected          bool
	cutOff             bool                // its machine was replaced, and runs on where nobody reaches it
	using              int64               // the generation that it uses
	rules              int32               // the newest rules level that its build supports
	used               map[int64]time.Time // until when its promises may run under generations that it left
	ended              time.Time           // when it truly did; zero: it runs
	mute               time.Time           // until when it promises nothing, its state being new (V1)
}

func (a *agent) runs() bool { return a.ended.IsZero() }

func (a *agent) String() string { return a.uid + "/" + a.stateID }

// is reports whether a member stands for this agent.
func (a *agent) is(m Member) bool { return m.UID == a.uid && m.StateID == a.stateID }

// charter is a roster as it was handed out.
type charter struct {
	roster *Roster
	voters []Member
	lease  time.Duration
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		scene:   newScene(0),
		t:       t,
		seed:    seed,
		random:  rand.New(rand.NewPCG(seed, 0)),
		rosters: map[int64]*charter{},

		replaces: seed%2 == 1,
	}
	w.setLease(second)
	w.Rules = w.build()
	return w
}

func (w *world) setLease(d time.Duration) { w.Lease, w.Settings = d, d.String() }

// newPod makes a pod with a free name, and its agent.
func (w *world) newPod() {
	if len(w.Pods) == 7 {
		return
	}
	name := ""
	for i := 0; name == "" || slices.ContainsFunc(w.Pods, func(p Pod) bool { return p.Name == name }); i++ {
		name = fmt.Sprintf("p-%d", i)
	}
	w.made++
	pod := Pod{
		Name:     name,
		UID:      fmt.Sprintf("uid-%d", w.made),
		Address:  fmt.Sprintf("10.0.0.%d", w.made),
		Priority: 1,
	}
	w.Pods = append(w.Pods, pod)
	w.agents = append(w.agents,
		&agent{name: name, uid: pod.UID, stateID: "m", rules: w.build(), used: map[int64]time.Time{}})
	slices.SortFunc(w.Pods, func(a, b Pod) int { return CompareNames(a.Name, b.Name) })
}

// manage is a pass of the manager; what it persists is checked against the truth.
func (w *world) manage() {
	w.t.Helper()
	w.remembers()
	w.show()
	knows, _ := Step(w.state, &w.Facts) // the status may have been wiped, or set back, since
	var was []Member
	if knows.roster != nil {
		was = votersAmong(knows.roster)
	}
	d := w.pass()
	if !d.Persist {
		return
	}
	is := votersAmong(d.Roster)
	w.checkChange(was, is)
	w.checkLevel(knows.roster, d.Roster, is)
	if w.rosters[d.Roster.Generation] != nil {
		return // the same roster: only the record says more
	}
	w.rosters[d.Roster.Generation] = &charter{roster: d.Roster, voters: is, lease: w.Lease}
	w.history = append(w.history, d.Roster)
	w.note("generation %d (%s): %v", d.Roster.Generation, d.Why, votersOn(d.Roster))
}

func votersAmong(r *Roster) (voters []Member) {
	if r == nil {
		return nil
	}
	for _, m := range r.Members {
		if m.Voter {
			voters = append(voters, m)
		}
	}
	return voters
}

func sameVoter(m Member) func(Member) bool {
	return func(o Member) bool { return o.UID == m.UID && o.StateID == m.StateID }
}

// checkChange is MC3: one goes or one comes, or several go that have truly ended; the first voters
// may be any.
func (w *world) checkChange(was, is []Member) {
	w.t.Helper()
	came, wentRunning, went := 0, 0, 0
	for _, m := range is {
		if !slices.ContainsFunc(was, sameVoter(m)) {
			came++
		}
	}
	for _, m := range was {
		if !slices.ContainsFunc(is, sameVoter(m)) {
			went++
			i := slices.IndexFunc(w.agents, func(a *agent) bool { return a.is(m) })
			if w.agents[i].runs() {
				wentRunning++
			}
		}
	}
	if len(was) > 0 && (came+wentRunning > 1 || came > 0 && went > 0) {
		w.fail("in one change %d came and %d went, %d of them running", came, went, wentRunning)
	}
}

// able reports whether an agent may be bound by a promise under a generation now: it uses it, or
// its last such promise runs.
func (w *world) able(a *agent, generation int64) bool {
	runs := Outlast(w.rosters[generation].lease)
	if !a.runs() && w.Now.Sub(a.ended) >= runs {
		return false
	}
	if until, left := a.used[generation]; left {
		return w.Now.Before(until)
	}
	return a.using == generation && !w.Now.Before(a.mute)
}

// check is G1 as far as the roster can break it: there are no two majorities, of whatever rosters,
// without a common voter, all of whose members may be bound by a promise now.
func (w *world) check() {
	w.t.Helper()
	able := map[int64][]*agent{}
	for generation, c := range w.rosters {
		for _, a := range w.agents {
			if slices.ContainsFunc(c.voters, a.is) && w.able(a, generation) {
				able[generation] = append(able[generation], a)
			}
		}
		if len(able[generation]) < Majority(len(c.voters)) {
			delete(able, generation)
		}
	}
	for g, some := range able {
		for h, others := range able {
			union := slices.Clone(some)
			for _, a := range others {
				if !slices.Contains(union, a) {
					union = append(union, a)
				}
			}
			from, to := w.rosters[g].roster.Rules, w.rosters[h].roster.Rules
			if from-to > 1 || to-from > 1 {
				w.fail("promises of %d under level %d run, and of %d under level %d", g, from, h, to)
			}
			needed := Majority(len(w.rosters[g].voters)) + Majority(len(w.rosters[h].voters))
			if g < h && len(union) >= needed {
				w.fail("two may act: under %d with %v of %v, and under %d with %v of %v", g, some,
					w.rosters[g].voters, h, others, w.rosters[h].voters)
			}
		}
	}
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v "+format, append([]any{w.Now.Sub(noon)}, args...)...))
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

// inAPI reports whether the agent's pod exists.
func (w *world) inAPI(a *agent) bool { return w.Facts.pod(a.uid) != nil }

// newest reports whether no later agent runs in the same pod.
func (w *world) newest(a *agent) bool {
	var newest *agent
	for _, b := range w.agents {
		if b.uid == a.uid {
			newest = b
		}
	}
	return newest == a
}

// happens has something happen, most often something harmless.
func (w *world) happens() {
	w.Now = w.Now.Add(time.Duration(w.random.IntN(400)) * time.Millisecond)
	deeds := []func(){
		w.newPod, w.kill, w.deleteGracefully, w.aboutToLeave, w.leaveDeleted, w.deleteByForce, w.loseState, w.replaceMachines,
		w.disconnect, w.restartManager, w.upgradeAgent, w.upgradeManager,
		w.editLease, w.evict, w.drain, w.rebootRack, w.wipeStatus, w.setBack, w.kubeletTells, w.kubeletTells, w.join, w.join, w.join,
	}
	if i := w.random.IntN(3 * len(deeds)); i < len(deeds) {
		deeds[i]()
	} else {
		w.take(w.pick(func(a *agent) bool { return a.runs() && a.connected }))
	}
	w.check()
	if w.random.IntN(3) > 0 {
		w.manage()
		w.check()
	}
}

// Whatever happens, in whatever order, voters change one at a time or have ended, and no two
// majorities that could act are without a common voter. When it is calm again, all that run vote,
// under the highest rules level that all support.
func TestVotersInAWorldOfTrouble(t *testing.T) {
	for seed := range uint64(1000) {
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
	voters, lowest := votersAmong(w.Roster), w.Rules
	for _, a := range w.agents {
		if votes := slices.ContainsFunc(voters, a.is); votes != a.runs() {
			w.fail("%s runs: %v, votes: %v", a, a.runs(), votes)
		}
		if a.runs() {
			lowest = min(lowest, a.rules)
		}
	}
	if len(voters) > 0 && w.Roster.Rules != lowest {
		w.fail("rules level %d, and all that run support %d", w.Roster.Rules, lowest)
	}
}
