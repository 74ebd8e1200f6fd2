// Package cpuquota says for how long the kernel may stop this process at a time because it has used
// up its CPU quota. Kubernetes gives a container such a quota for its CPU limit.
//
// What is not promised: that the quotas of cgroups count that the process does not see, such as its
// pod's, or those that are set after it has asked.
package cpuquota

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Throttled returns the rest of a period when one thread has used up its quota. It is 0 if nothing
// that the process sees stops it: there is no quota, or it is at least one CPU.
func Throttled() time.Duration { return throttled("/") }

func throttled(root string) (longest time.Duration) {
	own := cgroupsOf(root)
	for _, m := range mountsOf(root) {
		path, belongs := own[m.version()]
		if !belongs {
			continue
		}
		inside, err := filepath.Rel(m.shows, path)
		if err != nil || strings.HasPrefix(inside, "..") {
			inside = "." // the mount shows this process's cgroup and those below
		}
		mounted := filepath.Join(root, m.at)
		for dir := filepath.Join(mounted, inside); ; dir = filepath.Dir(dir) {
			longest = max(longest, m.pause(dir))
			if len(dir) <= len(mounted) {
				break
			}
		}
	}
	return longest
}

// cgroupsOf returns the process's cgroup of each hierarchy that may have CPU quotas, by its version
// (cgroups(7), /proc/pid/cgroup).
func cgroupsOf(root string) map[int]string {
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // not Linux: there are none
	own := map[int]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			own[2] = fields[2]
		case slices.Contains(strings.Split(fields[1], ","), "cpu"):
			own[1] = fields[2]
		}
	}
	return own
}

// mount is where a hierarchy of cgroups can be read.
type mount struct {
	shows, at string // the cgroup that is at this path
	fs        string
	options   []string
}

// mountsOf returns the mounts of cgroups (proc_pid_mountinfo(5)).
func mountsOf(root string) (all []mount) {
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 {
			continue
		}
		m := mount{
			shows:   where[3],
			at:      where[4],
			fs:      what[0],
			options: strings.Split(what[2], ","),
		}
		if m.version() != 0 {
			all = append(all, m)
		}
	}
	return all
}

// version returns which version of cgroups is mounted; 0: none that has CPU quotas.
func (m mount) version() int {
	switch {
	case m.fs == "cgroup2":
		return 2
	case m.fs == "cgroup" && slices.Contains(m.options, "cpu"):
		return 1
	}
	return 0
}

// pause returns the rest of a period when the quota of a cgroup is used up; 0: it has none.
func (m mount) pause(dir string) time.Duration {
	if m.version() == 1 {
		return rest(read(dir, "cpu.cfs_quota_us"), read(dir, "cpu.cfs_period_us"))
	}
	quota, period, _ := strings.Cut(read(dir, "cpu.max"), " ")
	return rest(quota, period)
}

// rest returns what a quota leaves of its period, both in microseconds. Anything but a number is no
// quota: version 2 says "max".
func rest(quota, period string) time.Duration {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q < 0 {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil {
		return 0
	}
	return max(time.Duration(p-q)*time.Microsecond, 0)
}

func read(dir, file string) string {
	text, _ := os.ReadFile(filepath.Join(dir, file))
	return strings.TrimSpace(string(text))
}
