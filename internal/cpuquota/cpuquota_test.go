package cpuquota

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	cgroup1 = "33 32 0:30 %s /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	memory1 = "34 32 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	cgroup2 = "30 24 0:26 / /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 cgroup rw,nsdelegate\n"
	other   = "20 1 8:1 / / rw,relatime - ext4 /dev/vda rw\n"
)

// container is what a container of version 2 sees whose cpu.max has this text.
func container(limit string) map[string]string {
	return map[string]string{
		"proc/self/cgroup":      "0::/\n",
		"proc/self/mountinfo":   other + cgroup2,
		"sys/fs/cgroup/cpu.max": limit,
	}
}

// container1 is what a container of version 1 sees that may run for 50 of 100 ms: the path of its
// cgroup, and a mount that by its own words shows another path.
func container1(own, shows string) map[string]string {
	return map[string]string{
		"proc/self/cgroup":                            "3:cpu,cpuacct:" + own + "\n",
		"proc/self/mountinfo":                         other + memory1 + fmt.Sprintf(cgroup1, shows),
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
	}
}

func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  time.Duration
	}{
		"a container with a limit of 100m": {
			files: container("10000 100000\n"),
			want:  4 * 90 * time.Millisecond,
		},
		"one without a limit": {
			files: container("max 100000\n"),
		},
		"one with a limit of two CPUs": {
			files: container("200000 100000\n"),
		},
		"a quota of a cgroup above": {
			files: map[string]string{
				"proc/self/cgroup":                     "0::/a/b/c\n",
				"proc/self/mountinfo":                  other + cgroup2,
				"sys/fs/cgroup/a/b/c/cpu.max":          "80000 100000\n",
				"sys/fs/cgroup/a/cpu.max":              "20000 50000\n",
				"sys/fs/cgroup/another/group/cpu.max":  "1000 100000\n",
				"sys/fs/cgroup/a/b/c/below/me/cpu.max": "1000 100000\n",
			},
			want: 2 * 30 * time.Millisecond,
		},
		"version 1": {
			files: map[string]string{
				"proc/self/cgroup":                              "4:memory:/a\n3:cpu,cpuacct:/a\n0::/\n",
				"proc/self/mountinfo":                           other + memory1 + fmt.Sprintf(cgroup1, "/"),
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":  "50000\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":    "-1\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":   "100000\n",
			},
			want: 50 * time.Millisecond,
		},
		"version 1, of which the container sees its own cgroup": {
			files: container1("/kubepods/pod7/c1", "/kubepods/pod7/c1"),
			want:  50 * time.Millisecond,
		},
		"version 1, whose mount was made in another namespace": {
			files: container1("/", "/kubepods/pod7/c1"),
			want:  50 * time.Millisecond,
		},
		"version 1, of which the container sees another namespace's path": {
			files: container1("/", "/../.."),
			want:  50 * time.Millisecond,
		},
		"what nobody can read": {
			files: map[string]string{
				"proc/self/cgroup":      "0:/\n:::\n\n0::/\n",
				"proc/self/mountinfo":   "-\n - \n1 2 3\n" + cgroup2,
				"sys/fs/cgroup/cpu.max": "some of a lot\n",
			},
		},
		"a limit of 300m, of which more than one is used up": {
			files: container("30000 100000\n"),
			want:  2 * 70 * time.Millisecond,
		},
		"a mount point with a space, and a name with two dots": {
			files: map[string]string{
				"proc/self/cgroup": "0::/..a\n",
				"proc/self/mountinfo": "30 24 0:26 / /my\\040cgroups ro shared:4 - " +
					"cgroup2 cgroup rw\n",
				"my cgroups/..a/cpu.max": "50000 100000\n",
			},
			want: 50 * time.Millisecond,
		},
		"a period that no kernel takes": {
			files: container("10000 2000000\n"),
		},
		"a quota without a period": {
			files: map[string]string{
				"proc/self/cgroup":      "0::/\n",
				"proc/self/mountinfo":   cgroup2,
				"sys/fs/cgroup/cpu.max": "10000\n",
			},
		},
		"no Linux": {},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := Delay(root, 40*time.Millisecond); got != c.want {
				t.Errorf("40 ms of work may take %v longer, want %v", got, c.want)
			}
		})
	}
}
