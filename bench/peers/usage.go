package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ticks is how many clock ticks /proc counts a second; Linux has had 100 on every architecture for
// decades.
const ticks = 100

// usage counts the CPU time of the process groups of a team. A process that ends is counted up to
// the last look at it. It is safe for concurrent use.
type usage struct {
	mu   sync.Mutex
	used map[string]stat // by process: its id and its start
}

// take counts those of the processes that are in these groups.
func (u *usage) take(all []stat, groups []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range all {
		if slices.Contains(groups, s.group) && s.name != "strace" &&
			s.ticks >= u.used[s.process()].ticks { // again may have looked since
			u.used[s.process()] = s
		}
	}
}

// again looks at those of a group that were seen before. It is for just before they end, when a
// look at all processes would take too long.
func (u *usage) again(group int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for process, s := range u.used {
		if s.group != group {
			continue
		}
		if now, err := readStat(strconv.Itoa(s.pid)); err == nil && now.process() == process {
			u.used[process] = now
		}
	}
}

// total is how long all have run.
func (u *usage) total() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := 0
	for _, s := range u.used {
		sum += s.ticks
	}
	return time.Duration(sum) * time.Second / ticks
}

// stat is what /proc tells of a process.
type stat struct {
	pid, group  int
	start, name string
	zombie      bool
	ticks       int
}

// process tells it from another one that has had the same id.
func (s stat) process() string { return fmt.Sprint(s.pid, "@", s.start) }

// stats are those of all processes.
func stats() (all []stat) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1) // what there is of it
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		s, err := readStat(name)
		if err != nil {
			continue // it has ended
		}
		if s.zombie && s.name == "strace" { // nobody else waits for one that has left its member
			_, _ = syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
			continue
		}
		all = append(all, s)
	}
	return all
}

func readStat(pid string) (stat, error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(text))
}

// parseStat reads /proc/PID/stat: the name is in parentheses, and may have some itself.
func parseStat(text string) (s stat, err error) {
	before, after, ok := cutLast(text, ") ")
	pid, name, named := strings.Cut(before, " (")
	fields := strings.Fields(after)
	if !ok || !named || len(fields) < 20 {
		return s, fmt.Errorf("%q is no stat", text)
	}
	var numbers [4]int
	for i, field := range []string{pid, fields[2], fields[11], fields[12]} {
		if numbers[i], err = strconv.Atoi(field); err != nil {
			return s, err
		}
	}
	return stat{
		pid:    numbers[0],
		group:  numbers[1],
		start:  fields[19],
		name:   name,
		zombie: fields[0] == "Z",
		ticks:  numbers[2] + numbers[3],
	}, nil
}

func cutLast(s, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}
