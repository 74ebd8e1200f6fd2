package simulate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// faults sets what happens at given times.
func (p *plan) faults(o Options) {
	for _, s := range o.Crash {
		p.faultAt("--crash", s, o.Processes, scenario.Crash)
	}
	for _, s := range o.Recover {
		p.faultAt("--recover", s, o.Processes, scenario.Recover)
	}
	for _, s := range o.Unhealthy {
		p.unhealthyFrom(s, o.Processes)
	}
	for _, s := range o.Healthy {
		p.faultAt("--healthy", s, o.Processes, scenario.Healthy)
	}
	for _, s := range o.Partitions {
		p.partition(s, o.Processes)
	}
	slices.SortStableFunc(p.Faults, func(a, b scenario.Fault) int { return int(a.At - b.At) })
	p.checkOrder(o)
	if o.Until < 0 || o.Until > maxTime {
		p.complain("--until %v: must be a time in link delays, more than 0 and at most %d", o.Until,
			maxTime)
	}
	p.Until = ticks(o.Until)
	for _, f := range p.Faults {
		if o.Until > 0 && f.At > p.Until {
			p.complain("%s: that is after --until %v; let it last longer, or leave --until out", flagOf(f),
				o.Until)
		}
	}
}

// flagOf is how a person would write a fault.
func flagOf(f scenario.Fault) string {
	switch f.Kind {
	case scenario.Crash:
		return fmt.Sprintf("--crash %d@%v", Number(f.Processes[0]), units(f.At))
	case scenario.Recover:
		return fmt.Sprintf("--recover %d@%v", Number(f.Processes[0]), units(f.At))
	case scenario.Unhealthy:
		return fmt.Sprintf("--unhealthy %d@%v", Number(f.Processes[0]), units(f.At))
	case scenario.Healthy:
		return fmt.Sprintf("--healthy %d@%v", Number(f.Processes[0]), units(f.At))
	default:
		return fmt.Sprintf("--partition …@%v", units(f.At))
	}
}

// checkOrder checks that only those recover that are down, that only those crash that are up, and
// the same for their apps. A process that recovers has a new app, which is healthy.
func (p *plan) checkOrder(o Options) {
	down, unhealthy := map[string]bool{}, map[string]bool{}
	for _, i := range o.Crashed {
		down[Name(i)] = true
	}
	for _, i := range p.unhealthy {
		if unhealthy[Name(i)] = true; down[Name(i)] {
			p.complain("--unhealthy %d: process %d is down (--crashed); only a process that runs can be "+
				"unhealthy", i, i)
		}
	}
	for _, f := range p.Faults {
		for _, name := range f.Processes {
			i := Number(name)
			switch {
			case f.Kind == scenario.Crash && down[name]:
				p.complain("%s: process %d is down already", flagOf(f), i)
			case f.Kind == scenario.Recover && !down[name]:
				p.complain("%s: process %d is not down then; let it crash first, with --crashed %d or "+
					"--crash %d@T",
					flagOf(f), i, i, i)
			case f.Kind == scenario.Unhealthy && (down[name] || unhealthy[name]):
				p.complain("%s: process %d is down or unhealthy already", flagOf(f), i)
			case f.Kind == scenario.Healthy && (down[name] || !unhealthy[name]):
				p.complain("%s: process %d is healthy then; let it become unhealthy first, with --unhealthy "+
					"%d or --unhealthy %d@T",
					flagOf(f), i, i, i)
			}
			unhealthy[name] = f.Kind == scenario.Unhealthy
			if f.Kind == scenario.Crash || f.Kind == scenario.Recover {
				down[name] = f.Kind == scenario.Crash
			}
		}
	}
}

// unhealthyFrom reads "5", which is unhealthy from the beginning, or "5@3".
func (p *plan) unhealthyFrom(s string, n int) {
	if strings.Contains(s, "@") {
		p.faultAt("--unhealthy", s, n, scenario.Unhealthy)
		return
	}
	i, err := process(s, n)
	if err != nil {
		p.complain("--unhealthy %q: must be P or P@T, as in --unhealthy 5 or --unhealthy 5@3 (%w)", s,
			err)
		return
	}
	if !slices.Contains(p.unhealthy, i) {
		p.unhealthy = append(p.unhealthy, i)
		slices.Sort(p.unhealthy)
	}
}

// jitter draws how long a message takes: a tenth of a link delay at least, one at most, as twc is
// the worst case.
func jitter(seed uint64) scenario.Carry {
	return func(_, _ string, _ election.Message, sequence int) (scenario.Time, bool) {
		rng := rand.New(rand.NewPCG(seed, uint64(sequence)))
		return scenario.Unit/10 +
			scenario.Time(rng.Int64N(int64(scenario.Unit-scenario.Unit/10)+1)), false
	}
}

// maxTime bounds times that a person gives, in link delays.
const maxTime = 100_000

func (p *plan) faultAt(flag, s string, n int, kind scenario.FaultKind) {
	who, when, ok := strings.Cut(s, "@")
	i, errWho := process(who, n)
	t, errWhen := time(when)
	if err := errors.Join(errWho, errWhen); !ok || err != nil {
		if !ok {
			err = errors.New("the @ is missing")
		}
		p.complain("%s %q: must be P@T, as in %s 5@3: process 5 at time 3 (%w)", flag, s, flag, err)
		return
	}
	p.Faults = append(p.Faults, scenario.Fault{
		At:        t,
		Kind:      kind,
		Processes: []string{Name(i)},
	})
}

// partition reads "1,2|3,4@5-20": 1 and 2 are cut off from 3 and 4 from time 5 to 20.
func (p *plan) partition(s string, n int) {
	groups, when, ok := strings.Cut(s, "@")
	begin, end, heals := strings.Cut(when, "-")
	from, err := time(begin)
	to := from
	if err == nil && heals {
		to, err = time(end)
	}
	switch {
	case !ok, err != nil:
		p.complain(
			`--partition %q: must be SIDE|SIDE@T or SIDE|SIDE@T-T2, as in --partition "1,2|3,4,5@5-20"`, s)
		return
	case heals && to <= from:
		p.complain("--partition %q: ends at %s, before it begins at %s", s, end, begin)
		return
	}
	sides, err := sides(groups, n)
	if err != nil {
		p.complain("--partition %q: %w", s, err)
		return
	}
	p.Faults = append(p.Faults, scenario.Fault{
		At:    from,
		Kind:  scenario.Cut,
		Sides: sides,
	})
	if heals {
		p.Faults = append(p.Faults, scenario.Fault{At: to, Kind: scenario.Heal})
	}
}

func sides(s string, n int) ([][]string, error) {
	var all [][]string
	seen := map[int]bool{}
	for side := range strings.SplitSeq(s, "|") {
		var members []string
		for who := range strings.SplitSeq(side, ",") {
			i, err := process(who, n)
			switch {
			case err != nil:
				return nil, err
			case seen[i]:
				return nil, fmt.Errorf("process %d is named twice", i)
			}
			seen[i] = true
			members = append(members, Name(i))
		}
		all = append(all, members)
	}
	if len(all) < 2 {
		return nil, errors.New("a partition has two sides or more, with | between them")
	}
	for i := range n {
		if !seen[i+1] {
			return nil, fmt.Errorf("process %d is on no side; name all of 1 to %d", i+1, n)
		}
	}
	return all, nil
}
