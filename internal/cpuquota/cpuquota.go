// Package cpuquota tells how much longer some work may take because the kernel stops this process
// each time that it has used up its CPU quota. Kubernetes gives a container such a quota for its
// CPU limit. A process that runs one thread at a time is assumed.
//
// Not promised: quotas that the process does not see, such as its pod's, or that are set later, do
// not count. Nor do bursts that the kernel may allow.
package cpuquota

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Delay returns by how much quotas may delay so much work: for each quota that it uses up, by the
// rest of the period. It is 0 without a quota, and with one of at least one CPU. The root directory
// is "/"; in tests another one, with a proc and a cgroup filesystem.
func Delay(root string, work time.Duration) (longest time.Duration) {
	own := cgroupsOf(root)
	for _, m := range mountsOf(root) {
		path, belongs := own[m.version()]
		if !belongs {
			continue
		}
		inside, err := filepath.Rel(m.shows, path)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			inside = "." // as in a container whose mount shows its own cgroup only
		}
		mounted := filepath.Join(root, m.at)
		for dir := filepath.Join(mounted, inside); ; dir = filepath.Dir(dir) {
			longest = max(longest, m.quotaOf(dir).delay(work))
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
	shows, at string // this cgroup is seen at this path
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
			shows:   unescape(where[3]),
			at:      unescape(where[4]),
			fs:      what[0],
			options: strings.Split(what[2], ","),
		}
		if m.version() != 0 {
			all = append(all, m)
		}
	}
	return all
}

// unescape reads a path of mountinfo.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// version returns which version of cgroups is mounted; 0: one without CPU quotas.
func (m mount) version() int {
	switch {
	case m.fs == "cgroup2":
		return 2
	case m.fs == "cgroup" && slices.Contains(m.options, "cpu"):
		return 1
	}
	return 0
}

// quota is how long a cgroup may run in each period; the zero quota is none.
type quota struct{ run, period time.Duration }

// longestPeriod is the longest that the kernel takes.
const longestPeriod = time.Second

// quotaOf returns the quota of a cgroup.
func (m mount) quotaOf(dir string) quota {
	if m.version() == 1 {
		return parse(read(dir, "cpu.cfs_quota_us"), read(dir, "cpu.cfs_period_us"))
	}
	run, period, _ := strings.Cut(read(dir, "cpu.max"), " ")
	return parse(run, period)
}

// parse reads a quota, in microseconds. Anything but numbers is none: version 2 says "max", and
// version 1 says -1.
func parse(run, period string) quota {
	r, err := strconv.ParseInt(run, 10, 64)
	if err != nil || r <= 0 {
		return quota{}
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= r || p > longestPeriod.Microseconds() {
		return quota{}
	}
	return quota{run: time.Duration(r) * time.Microsecond, period: time.Duration(p) * time.Microsecond}
}

// delay returns by how much the quota may delay so much work, which begins when the quota of a
// period has just been used up.
func (q quota) delay(work time.Duration) time.Duration {
	if q.run == 0 {
		return 0
	}
	pauses := int64((work + q.run - 1) / q.run)
	return time.Duration(pauses) * (q.period - q.run)
}

func read(dir, file string) string {
	text, _ := os.ReadFile(filepath.Join(dir, file))
	return strings.TrimSpace(string(text))
}
