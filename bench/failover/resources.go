package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// ticks is how many clock ticks /proc counts a second; Linux has had 100 on every architecture for
// decades.
const ticks = 100

// watched is what agents did while their group was quiet.
type watched struct {
	cpu  map[string]float64 // percent of one core
	sent map[string]sent    // a second
}

// watch watches a quiet group for a while. Its answers to who watches are no part of the CPU, and
// little of anything else.
func (g *group) watch(ctx context.Context, span time.Duration) (w watched, err error) {
	sentBefore, err := g.traffic(ctx)
	if err != nil {
		return w, err
	}
	begun := time.Now()
	before, err := g.cpu()
	if err != nil {
		return w, err
	}
	if err := g.until(ctx, begun.Add(span)); err != nil {
		return w, err
	}
	after, err := g.cpu()
	if err != nil {
		return w, err
	}
	sentAfter, err := g.traffic(ctx)
	if err != nil {
		return w, err
	}
	w = watched{cpu: map[string]float64{}, sent: map[string]sent{}}
	for _, name := range g.names {
		w.cpu[name] = float64(after[name]-before[name]) / ticks / span.Seconds() * 100
		if w.sent[name], err = sentAfter[name].rate(sentBefore[name]); err != nil {
			return w, fmt.Errorf("%s: %w", name, err)
		}
		if _, known := before[name]; !known || w.cpu[name] < 0 {
			return w, fmt.Errorf("%s has used %d ticks, and then %d: it is another process", name,
				before[name], after[name])
		}
		if w.sent[name].total() == 0 {
			return w, fmt.Errorf("%s has sent nothing in %v, not even a heartbeat", name, span)
		}
	}
	return w, nil
}

// cpu is how many ticks each agent has used, in user and kernel mode.
func (g *group) cpu() (map[string]int, error) {
	used := map[string]int{}
	for name, c := range g.running {
		fields, err := readStat(c.Process.Pid)
		if err != nil {
			return nil, err
		}
		user, err := strconv.Atoi(fields[11])
		system, err2 := strconv.Atoi(fields[12])
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		used[name] = user + system
	}
	return used, nil
}

// readStat returns the fields of a process after its name, which is in parentheses: the first is
// its state.
func readStat(pid int) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// resident is the median resident memory of the agents, in MiB.
func (g *group) resident() (float64, error) {
	var sizes []float64
	for name, c := range g.running {
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.Process.Pid))
		if err != nil {
			return 0, err
		}
		var size, pages int
		if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil || pages == 0 {
			return 0, fmt.Errorf("the memory of %s: %q: %w", name, statm, err)
		}
		sizes = append(sizes, float64(pages*os.Getpagesize())/(1<<20))
	}
	return quantile.Of(sizes, 0.5), nil
}
