package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticks is how many clock ticks /proc counts a second; Linux has had 100 on every architecture for decades.
const ticks = 100

// watched is what agents did while their group was quiet.
type watched struct {
	cpu  map[string]float64 // percent of one core
	sent map[string]sent    // a second
}

// watch watches a quiet group for a while. Its answers to who watches are no part of the CPU, and little of anything else.
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
		w.sent[name] = sentAfter[name].rate(sentBefore[name])
	}
	return w, nil
}

// cpu is how many ticks each agent has used, in user and kernel mode.
func (g *group) cpu() (map[string]int, error) {
	used := map[string]int{}
	for name, c := range g.running {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			return nil, err
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // the second field is the name, in parentheses
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return nil, fmt.Errorf("/proc/%d/stat has %d fields", c.Process.Pid, len(fields))
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

// resident is the median resident memory of the agents, in MiB.
func (g *group) resident() float64 {
	var sizes []float64
	for _, c := range g.running {
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.Process.Pid))
		if err != nil {
			continue // it was killed just now
		}
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			sizes = append(sizes, float64(pages*os.Getpagesize())/(1<<20))
		}
	}
	return median(sizes)
}
