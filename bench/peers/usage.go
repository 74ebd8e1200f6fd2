package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ticks is how many clock ticks /proc counts a second; Linux has had 100 on every architecture for
// decades.
const ticks = 100

// usage counts the CPU time of process groups. A process that ends is counted up to the last look
// at it. It is safe for concurrent use.
type usage struct {
	mu   sync.Mutex
	used map[string]int // ticks by process: its id and its start
}

// look reads the processes of these groups.
func (u *usage) look(groups []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if s, err := parseStat(string(text)); err == nil && slices.Contains(groups, s.group) &&
			s.name != "strace" {
			u.used[s.process] = s.ticks
		}
	}
}

// total is how long all have run.
func (u *usage) total() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := 0
	for _, t := range u.used {
		sum += t
	}
	return time.Duration(sum) * time.Second / ticks
}

// stat is what /proc tells of a process.
type stat struct {
	name    string
	process string
	group   int
	ticks   int
}

// parseStat reads /proc/PID/stat: the name is in parentheses, and may have some itself.
func parseStat(text string) (s stat, err error) {
	before, after, ok := cutLast(text, ") ")
	pid, name, named := strings.Cut(before, " (")
	fields := strings.Fields(after)
	if !ok || !named || len(fields) < 20 {
		return s, fmt.Errorf("%q is no stat", text)
	}
	var numbers [3]int
	for i, field := range []int{2, 11, 12} {
		if numbers[i], err = strconv.Atoi(fields[field]); err != nil {
			return s, err
		}
	}
	return stat{
		name:    name,
		process: pid + "@" + fields[19],
		group:   numbers[0],
		ticks:   numbers[1] + numbers[2],
	}, nil
}

func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}
