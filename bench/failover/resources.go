package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticks is how many clock ticks /proc counts a second; Linux has had 100 on every architecture for decades.
const ticks = 100

// load is the CPU that agents of a quiet group take, in percent of one core.
type load struct{ median, coordinator float64 }

// idle watches a quiet group for a while.
func (g *group) idle(ctx context.Context, span time.Duration) (l load, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience+span)
	defer cancel()
	highest := g.names[len(g.names)-1]
	if _, err := g.witness.Await(ctx, g.names, func(c string) bool { return c == highest }); err != nil {
		return l, err
	}
	before, err := g.cpu()
	if err != nil {
		return l, err
	}
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return l, ctx.Err()
	}
	after, err := g.cpu()
	if err != nil {
		return l, err
	}
	percent := func(name string) float64 { return float64(after[name]-before[name]) / ticks / span.Seconds() * 100 }
	all := make([]float64, 0, len(g.names))
	for _, name := range g.names {
		all = append(all, percent(name))
	}
	return load{median: median(all), coordinator: percent(highest)}, nil
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

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
