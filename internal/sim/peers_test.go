package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// A peer is a scenario that another project tests or documents, played on our nodes under every
// algorithm. docs/evidence/performance.md has what came of them.
type peer struct {
	name       string
	from       string // where the idea comes from: project, and test or page
	guarded    bool
	processes  int
	preemption lease.Policy // Always, if empty
	stable     time.Duration
	play       func(t *testing.T, v *watcher)
}

var peers = append(append(append([]peer(nil), mergePeers...), quorumPeers...), transferPeers...)

// TestPeers plays them. Each begins in a quiet group that follows its highest process, PN, and ends
// in calm; all invariants are checked after every step.
func TestPeers(t *testing.T) {
	for _, c := range peers {
		mode := "Classic"
		if c.guarded {
			mode = "Guarded"
		}
		t.Run(mode+" "+c.name, func(t *testing.T) {
			algorithms := election.Algorithms()
			if testing.Short() {
				algorithms = []string{"Bully", "RingList"}
			}
			for _, algorithm := range algorithms {
				t.Run(algorithm, func(t *testing.T) { c.run(t, algorithm) })
			}
		})
	}
}

func (c peer) run(t *testing.T, algorithm string) {
	like := history{
		then:      "see " + c.from,
		algorithm: algorithm,
		guarded:   c.guarded,
		processes: c.processes,
	}
	h := begin(like)
	if c.preemption != "" {
		h.Preemption = c.preemption
	}
	if c.stable != 0 {
		h.Stable = c.stable
	}
	var told strings.Builder
	h.out = &told
	defer h.report(t, like, &told)
	h.wait(t, "all follow the highest", h.allAgree)
	v := h.watch(t)
	c.play(t, v)
	t.Log(v)
	h.calm(t)
}

// mergePeers are partitions that heal.
var mergePeers = []peer{
	{
		name:      "two halves merge",
		from:      "JGroups, MergeTest4.testSplitInTheMiddle2",
		processes: 4,
		play:      halvesMergeClassic,
	},
	{
		name:      "two halves merge",
		from:      "JGroups, MergeTest4.testSplitInTheMiddle2",
		guarded:   true,
		processes: 4,
		play:      halvesMergeGuarded,
	},
	{
		name:      "four parts merge",
		from:      "JGroups, MergeTest4.testMultipleSplits",
		processes: 9,
		play:      fourPartsClassic,
	},
	{
		name:      "four parts merge",
		from:      "JGroups, MergeTest4.testMultipleSplits",
		guarded:   true,
		processes: 9,
		play:      fourPartsGuarded,
	},
	{
		name:      "the coordinator is isolated one way",
		from:      "JGroups, MergeTest4.testMergeWithAsymetricViewsCoordIsolated",
		processes: 4,
		play:      deafCoordinatorClassic,
	},
}

// halvesMergeClassic: each half has a coordinator, as promised; then there is one.
func halvesMergeClassic(t *testing.T, v *watcher) {
	v.split(40*T, []int32{0, 1}, []int32{2, 3})
	v.goes(40 * T)
	if v.shows(0) != "P2" || v.shows(1) != "P2" || v.shows(2) != "P4" || v.shows(3) != "P4" {
		t.Errorf("halves follow %s %s and %s %s", v.shows(0), v.shows(1), v.shows(2), v.shows(3))
	}
	v.merges(t, "P4", 20*T)
}

// merges: everybody follows the highest again, soon after the network has healed.
func (v *watcher) merges(t *testing.T, name string, within Time) {
	t.Helper()
	took := v.awaits(t, "all follow "+name, func() bool { return v.agreed(name) })
	t.Logf("merged %s after the network had healed", clockFormat(took))
	if took > within {
		t.Errorf("merged after %s, want %s", clockFormat(took), clockFormat(within))
	}
}

// halvesMergeGuarded: two of four are no majority. Nobody acts once the lease is over, and the
// first to act after that may be another than the highest, which then takes over.
func halvesMergeGuarded(t *testing.T, v *watcher) {
	v.split(40*T, []int32{0, 1}, []int32{2, 3})
	v.goes(40 * T)
	if v.without < 35*T {
		t.Errorf("nobody could act for %s only, and no half has a majority", clockFormat(v.without))
	}
	v.merges(t, "P4", 20*T)
	v.atMost(t, 2, 60*T)
}

func fourPartsClassic(t *testing.T, v *watcher) {
	v.split(40*T, []int32{0, 1, 2}, []int32{3}, []int32{4, 5, 6, 7}, []int32{8})
	v.goes(40 * T)
	for p, want := range [...]string{"P3", "P3", "P3", "P4", "P8", "P8", "P8", "P8", "P9"} {
		if got := v.shows(int32(p)); got != want {
			t.Errorf("%s follows %q, the highest of its part is %s", names[p], got, want)
		}
	}
	v.merges(t, "P9", 30*T)
}

// fourPartsGuarded: no part has a majority. The first that finds one may be any process; it waits
// until all have had the time to answer, and hands its lease to the highest (PR2).
func fourPartsGuarded(t *testing.T, v *watcher) {
	v.split(40*T, []int32{0, 1, 2}, []int32{3}, []int32{4, 5, 6, 7}, []int32{8})
	v.goes(39 * T)
	if v.without < 34*T {
		t.Errorf("nobody could act for %s only, and no part has five of nine", clockFormat(v.without))
	}
	v.goes(T)
	v.merges(t, "P9", 30*T)
	v.atMost(t, 2, 70*T)
}

// deafCoordinatorClassic: P4 hears nobody, and all hear P4. It goes on, as each side may; the
// others elect P3, because P4 does not answer them.
func deafCoordinatorClassic(t *testing.T, v *watcher) {
	v.deafen(3, 40*T)
	v.goes(40 * T)
	if !v.mayAct(3) || v.shows(0) != "P3" || v.shows(1) != "P3" || v.shows(2) != "P3" {
		t.Errorf("P1 to P4 follow %s %s %s %s", v.shows(0), v.shows(1), v.shows(2), v.shows(3))
	}
	v.merges(t, "P4", 20*T)
}

// quorumPeers are members that come back, and links that work one way.
var quorumPeers = []peer{
	{
		name: "a partitioned member returns",
		from: "etcd raft, TestDisruptiveFollowerPreVote; " +
			"hashicorp/raft, TestRaft_PreVoteAvoidElectionWithPartition",
		guarded:   true,
		processes: 5,
		play:      memberReturns,
	},
	{
		name:      "a member that cannot hear the leader",
		from:      "etcd raft, testdata/prevote_checkquorum.txt",
		guarded:   true,
		processes: 3,
		play:      memberDeafToLeader,
	},
	{
		name:      "a leader that hears nobody",
		from:      "etcd raft, testdata/checkquorum.txt",
		guarded:   true,
		processes: 3,
		play:      leaderHearsNobody,
	},
	{
		name:      "a leader without its only peer",
		from:      "hashicorp/raft, TestRaft_LeaderLeaseExpire",
		guarded:   true,
		processes: 2,
		play:      leaseExpires,
	},
	{
		name:      "lost adverts",
		from:      "keepalived, keepalived.conf(5): down_timer_adverts",
		guarded:   true,
		processes: 3,
		play:      lostAdverts,
	},
}

// memberReturns: P1 is alone for 20 s, as long as would raise its term a dozen times, and returns.
func memberReturns(t *testing.T, v *watcher) {
	v.split(100*T, []int32{0}, []int32{1, 2, 3, 4})
	v.goes(20 * T)
	if got := v.shows(0); got != "" {
		t.Errorf("P1 names %s, and reaches no majority that could tell", got)
	}
	v.goes(80 * T)
	v.merges(t, "P5", 20*T)
	v.goes(40 * T)
	v.unchanged(t)
}

// memberDeafToLeader: what P3, which leads, sends does not reach P2; P2 reaches P3 and P1.
func memberDeafToLeader(t *testing.T, v *watcher) {
	v.pair(2, 1).cut = v.now + 60*T
	v.goes(60 * T)
	if got := v.shows(1); got != "P3" {
		t.Errorf("P2 names %q; P1 could have told it that P3 leads", got)
	}
	v.goes(40 * T)
	v.unchanged(t)
}

// withinWindow asserts that a leader that is cut off stopped in time.
func (v *watcher) withinWindow(t *testing.T, gone Time) {
	t.Helper()
	if window := Time(v.Options.Lease.Lease) * 9 / 11; gone > window+glance {
		t.Errorf("acts for %s more, want %s at most", clockFormat(gone), clockFormat(window))
	}
}

// leaderHearsNobody: P3 hears nobody, and all hear P3.
func leaderHearsNobody(t *testing.T, v *watcher) {
	v.deafen(2, 60*T)
	gone := v.awaits(t, "P3 stops", func() bool { return !v.mayAct(2) })
	t.Logf("the leader stops after %s", clockFormat(gone))
	v.withinWindow(t, gone)
	v.awaits(t, "P2 acts", func() bool { return v.mayAct(1) })
	v.goes(60 * T)
	v.merges(t, "P3", 20*T)
	v.atMost(t, 2, 8*T)
}

// leaseExpires: of two that need each other, the leader stops within its lease, and both name
// nobody.
func leaseExpires(t *testing.T, v *watcher) {
	v.cut(0, 1, 40*T)
	gone := v.awaits(t, "P2 stops", func() bool { return !v.mayAct(1) })
	t.Logf("the leader stops after %s", clockFormat(gone))
	v.withinWindow(t, gone)
	v.goes(10 * T)
	if v.shows(0) != "" || v.shows(1) != "" {
		t.Errorf("P1 names %q, P2 %q", v.shows(0), v.shows(1))
	}
	v.goes(30*T - gone)
	v.merges(t, "P2", 20*T)
	v.atMost(t, 2, 60*T)
}

// lostAdverts: nothing of what the leader says arrives for one heartbeat, then for two, three and
// four.
func lostAdverts(t *testing.T, v *watcher) {
	lost := 0
	for beats := Time(1); beats <= 4; beats++ {
		until := v.now + beats*heartbeat
		v.route = func(p, _ int32, m *node.Message, at Time) Time {
			if p == 2 && v.now < until && (asks(m, lease.Renew) || m.Type == node.Answer) {
				lost++
				return forever
			}
			return at
		}
		v.goes(20 * T)
	}
	if lost < 20 {
		t.Errorf("%d adverts were lost: this does not try what it says", lost)
	}
	v.unchanged(t)
}
