package condition

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, name := range Names() {
		if c, err := Find(name); err != nil || c.Name != name || c.Meaning == "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if _, err := Find("sunny"); err == nil || !strings.Contains(err.Error(), "quiet, servers, loops-4") {
		t.Errorf("%v: want to read which there are", err)
	}
}

// The cgroups are where the kernel's version of them has the cpu controller.
func TestFindQuotas(t *testing.T) {
	for name, c := range map[string]struct {
		files, self string
		dir         string
		v2          bool
		fails       bool
	}{
		"version 2":                   {files: "cgroup.controllers", self: "0::/a", dir: ".", v2: true},
		"version 1":                   {files: "cpu/cgroup.procs", self: "2:cpu:/\n0::/", dir: "cpu"},
		"version 1 in a cgroup":       {files: "cpu/idle/cgroup.procs", self: "2:cpu:/idle\n", dir: "cpu/idle"},
		"version 1 with accounting":   {files: "cpu,cpuacct/cgroup.procs", self: "2:cpu,cpuacct:/\n", dir: "cpu,cpuacct"},
		"no cpu controller":           {files: "memory/cgroup.procs", self: "2:memory:/\n3:cpuset:/\n", fails: true},
		"a controller that is hidden": {files: "memory/cgroup.procs", self: "2:cpu:/\n", fails: true},
	} {
		mount := t.TempDir()
		file := filepath.Join(mount, c.files)
		self := filepath.Join(mount, "self")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{file: "", self: c.self} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		q, err := findQuotas(mount, self)
		if c.fails {
			if err == nil {
				t.Errorf("%s: %+v, want an error", name, q)
			}
			continue
		}
		if err != nil || filepath.Dir(q.dir) != filepath.Join(mount, c.dir) || q.v2 != c.v2 {
			t.Errorf("%s: %+v, %v, want it in %s", name, q, err, c.dir)
		}
	}
}

// A member gets its limit and is started in its cgroup.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		v2    bool
		files map[string]string
	}{
		{false, map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}},
		{true, map[string]string{"cpu.max": "10000 100000"}},
	} {
		r := &Running{condition: Condition{Quota: true, SlowDisk: true}, quotas: &quotas{dir: t.TempDir(), v2: c.v2}}
		command, err := r.Wrap("p1", []string{"member", "--id", "p1"})
		if err != nil {
			t.Fatal(err)
		}
		if command[0] != "sh" || !slices.Contains(command, "strace") ||
			!slices.Contains(command, "--daemonize=pgroup") || // it is not to be stopped with the member
			!slices.Equal(command[len(command)-3:], []string{"member", "--id", "p1"}) {
			t.Errorf("%q", command)
		}
		for file, want := range c.files {
			if got, err := os.ReadFile(filepath.Join(r.quotas.dir, "p1", file)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", file, got, err, want)
			}
		}
	}
}
