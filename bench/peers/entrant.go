package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/network"
	"github.com/podesta-dev/podesta/bench/peers/report"
	"github.com/podesta-dev/podesta/test/register"
)

// entrant is a team within a span.
type entrant struct {
	team     *team
	usage    usage
	before   time.Duration // CPU time when the span began
	leases   leases
	from, to register.Instant
}

// look takes what is counted by looking.
func look(ctx context.Context, runs []*entrant) {
	var looking sync.WaitGroup // one that is stopped must not delay the others
	for i, r := range runs {
		if strings.HasPrefix(r.team.system.name, "podesta") {
			looking.Go(func() { r.leases.look(ctx, r.team, time.Duration(i)*teamsApart) })
		}
	}
	looking.Wait()
	processes := stats()
	for _, r := range runs {
		r.usage.take(processes, r.team.groups())
	}
}

// judge writes down what a team did, and what was late. Nobody watched a machine that is nil.
func (o *stressOptions) judge(
	r *entrant, c condition.Condition, machine *lateness.Machine, ways *network.Network,
) (report.Record, error) {
	f := account.Judge(r.team.book.Entries(), r.from, r.to)
	record := o.record(report.Stress, r.team.system.name, c.Name)
	record.Span, record.Faults, record.Strikes = f.Span.Seconds(), o.faults, f.Strikes
	if len(o.faults) > 0 && o.apart != usuallyApart {
		record.Apart = o.apart.Seconds()
	}
	record.Spurious, record.Minutes = f.Spurious.Milliseconds(), f.Minutes.Milliseconds()
	record.Lapses, record.Unanswered = f.Lapses, f.Unanswered
	record.Took = f.Failovers.Milliseconds()
	for fault, took := range f.ByFault {
		if record.ByFault == nil {
			record.ByFault = map[string][]float64{}
		}
		record.ByFault[fault] = took.Milliseconds()
	}
	for _, i := range f.Interruptions {
		long := account.Durations{i.Lasts}.Milliseconds()[0]
		record.Interruptions = append(record.Interruptions, report.Interruption{For: long, End: i.End})
	}
	times := account.Durations{f.Leaderless, f.Unprovoked, f.Two}.Milliseconds()
	record.Leaderless, record.Unprovoked, record.Two = times[0], times[1], times[2]
	record.CPU = 100 * (r.usage.total() - r.before).Seconds() / f.Span.Seconds()
	record.Crashes = r.team.crashed()
	record.Leases = account.Durations(r.leases.asked).Milliseconds()
	record.AgentLapses = int(r.leases.lapses)
	record.Watched, record.WaysWatched = machine != nil, ways != nil
	record.Standstills = since(r.from, machine.Within(r.from, r.to))
	late, err := ways.Late(r.from, r.to)
	record.Late = since(r.from, late)
	return record, err
}

// since is what was late, as a record has it.
func since(from register.Instant, all []lateness.Late) (some []report.Late) {
	for _, late := range all {
		ms := account.Durations{late.From.Sub(from), late.Length()}.Milliseconds()
		some = append(some, report.Late{At: ms[0], For: ms[1]})
	}
	return some
}
