package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register/history"
)

// madeUp is a report of a run that never was, the same for the same seed: large enough that every
// part of a page is full.
func madeUp(seed uint64, rounds int) report.Run {
	m := maker{Rand: rand.New(rand.NewPCG(seed, 1)), epochs: map[string]int64{}}
	run := report.Run{Seed: seed, Rounds: rounds, Begun: time.Date(2026, 3, 1, 20, 15, 0, 0, time.UTC), Seconds: float64(rounds) * 21,
		Podesta: "v0.0.0-made-up", Kubernetes: "v1.36.1", Nodes: 4, Cores: 2, LeaseMilliseconds: 1000, LeaseMinimumMilliseconds: 100}
	algorithms := []string{"Bully", "StatusTableBully", "LeLann", "ChangRoberts", "RingList", "ActiveListRing"}
	for i, algorithm := range algorithms {
		var groups []report.Group
		for _, safety := range safeties {
			for _, size := range []int{5, 7} {
				g := report.Group{Name: strings.ToLower(fmt.Sprintf("%s-%s-%d", algorithm, safety, size)), Algorithm: algorithm, Safety: safety,
					Processes: size, Seconds: run.Seconds / float64(len(algorithms))}
				g.Became = m.became(safety, g.Seconds)
				groups = append(groups, g)
			}
		}
		for round := i * rounds / len(algorithms); round < (i+1)*rounds/len(algorithms); round++ {
			second := m.IntN(3) == 0
			run.Strikes = append(run.Strikes, m.fault(round, groups, second)...)
			if second {
				run.Strikes = append(run.Strikes, m.fault(round, groups, second)...)
			}
		}
		run.Groups = append(run.Groups, groups...)
	}
	return run
}

// maker draws what happened.
type maker struct {
	*rand.Rand

	epochs map[string]int64
}

func (m maker) became(safety string, took float64) history.Report {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	r := history.Report{Told: int(took * 18), Stretches: int(took / 20),
		Nobody: history.Times{Count: int(took / 25), Total: seconds(took / 30), Longest: seconds(6.2)},
		Writes: history.Writes{Accepted: int(took * 44), Refused: int(took / 9), RefusedCareful: int(took / 40)}}
	if safety == guarded {
		r.Held, r.Stopped, r.Released, r.Writes.Late = int(took/20), int(took/30), int(took/50), int(took/200)
		return r
	}
	r.Writes = history.Writes{Accepted: int(took * 45), Stale: int(took / 12)}
	r.Together = history.Times{Count: int(took / 60), Total: seconds(took / 150), Longest: seconds(3.4)}
	return r
}

// a script is a fault, and how it tends to end.
type script struct {
	class            report.Class
	fault            string
	every            bool    // group is hit at once, at one victim
	lasts            float64 // ms
	changes          float64 // how likely it changes a coordinator that is hit
	guarded, classic float64 // ms, median
	spread           float64
	service          float64 // ms from agreement to the Service
}

var scripts = []script{
	{report.Kill, "kill agent", false, 0, 1, 960, 9, 0.25, 220},
	{report.Kill, "kill app", false, 0, 1, 40, 7, 0.5, 200},
	{report.Kill, "kill pod", false, 0, 1, 700, 12, 0.4, 260},
	{report.Kill, "delete pod --force", false, 0, 1, 900, 30, 0.4, 240},
	{report.Kill, "kill node", true, 20000, 1, 1100, 320, 0.3, 900},
	{report.Cut, "cut off, both ways", false, 6000, 1, 1150, 330, 0.25, 300},
	{report.Cut, "cut: hears nobody", false, 6000, 0.9, 1300, 400, 0.35, 300},
	{report.Cut, "cut in two", false, 8000, 0.7, 1500, 500, 0.5, 500},
	{report.Cut, "cut in two, with a bridge", false, 8000, 0.4, 1700, 450, 0.6, 600},
	{report.Pause, "pause agent", false, 2200, 1, 1020, 290, 0.2, 250},
	{report.Pause, "pause pod", false, 2500, 1, 1040, 300, 0.2, 260},
	{report.Pause, "pause node", true, 3000, 1, 1200, 350, 0.3, 1400},
	{report.Leave, "delete pod", false, 0, 1, 35, 11, 0.5, 180},
	{report.Leave, "drain node", true, 0, 1, 60, 14, 0.6, 230},
	{report.Leave, "rolling restart", false, 0, 1, 80, 20, 0.8, 300},
	{report.Edit, "edit priorities", false, 0, 0.8, 90, 40, 0.5, 200},
	{report.Edit, "edit to nonsense", false, 0, 0, 0, 0, 0, 0},
	{report.Outage, "pause API server", true, 60000, 0.05, 1000, 300, 0.4, 42000},
	{report.Outage, "kill etcd", true, 0, 0, 0, 0, 0, 0},
	{report.Outage, "kill all managers", true, 0, 0.02, 1000, 200, 0.4, 5000},
	{report.Starve, "starve of CPU", true, 10000, 0.2, 1600, 700, 0.7, 1500},
	{report.Renewal, "delete CA secret", true, 0, 0, 0, 0, 0, 0},
}

// fault strikes each group once: by a fault of all, or by one of its own with a victim of its own.
func (m maker) fault(round int, groups []report.Group, overlapping bool) []report.Strike {
	s := scripts[m.IntN(len(scripts))]
	coordinator := m.Float64() < 0.6
	lasts := s.lasts * (0.4 + 1.2*m.Float64())
	node := fmt.Sprintf("kind-worker%d", 1+m.IntN(3))
	var strikes []report.Strike
	for _, g := range groups {
		strike := report.Strike{Second: 20 + 21*float64(round), Round: round, Group: g.Name, Class: s.class, Fault: s.fault, Coordinator: coordinator,
			Milliseconds: lasts, OK: true, Overlapping: overlapping, Victim: fmt.Sprintf("%s-%d", g.Name, m.IntN(g.Processes))}
		if s.every {
			strike.Victim, strike.Coordinator = node, m.Float64() < 0.34
		}
		if s.fault == "rolling restart" || s.class == report.Edit || s.class == report.Outage || s.class == report.Renewal {
			strike.Victim, strike.Coordinator = "", false
		}
		epoch := m.epochs[g.Name]
		holder := func() report.Holder {
			h := report.Holder{Process: fmt.Sprintf("%s-%d", g.Name, epoch%int64(g.Processes))}
			if g.Safety == guarded {
				h.Epoch = int64(lease.NewEpoch(1, 1+epoch))
			}
			return h
		}
		strike.Before = holder()
		still := 5 + 90*m.Float64()
		strike.Times.Acts = &still
		changed := (strike.Coordinator || strike.Victim == "") && m.Float64() < s.changes
		if changed {
			epoch++
			m.epochs[g.Name] = epoch
			strike.Times = m.times(s, g)
		}
		strike.First, strike.After = holder(), holder()
		strikes = append(strikes, strike)
	}
	return strikes
}

func (m maker) times(s script, g report.Group) report.Times {
	median := s.classic
	if g.Safety == guarded {
		median = s.guarded
	}
	acts := median * math.Exp(m.NormFloat64()*s.spread) * (1 + float64(g.Processes)/50)
	agreed := acts + 2 + 20*m.ExpFloat64()
	status := agreed + 15 + 60*m.ExpFloat64()
	if s.service > 5000 {
		status += s.service
	}
	service := status + s.service*math.Exp(m.NormFloat64()*0.3)
	return report.Times{Acts: &acts, Agreed: &agreed, Status: &status, Service: &service}
}
