package condition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A member may run for quota of each period, in microseconds: a CPU limit of 100m in Kubernetes.
const quota, period = 10_000, 100_000

// quotas are cgroups with a CPU quota, one for each member.
type quotas struct {
	dir string // of all of them
	v2  bool
}

// Where cgroups are mounted. systemd puts version 2 there, or version 1 with a folder for each
// controller.
const cgroups = "/sys/fs/cgroup"

// newQuotas makes the folder of the cgroups. It needs root, and the cpu controller.
func newQuotas() (*quotas, error) {
	q, err := findQuotas(cgroups, "/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(q.dir, 0o755); err != nil { //nolint:gosec // cgroups are no secret
		return nil, fmt.Errorf("a cgroup for the members (run this as root): %w", err)
	}
	if q.v2 {
		for _, dir := range []string{filepath.Dir(q.dir), q.dir} {
			if err := write(dir, "cgroup.subtree_control", "+cpu"); err != nil {
				return nil, errors.Join(fmt.Errorf("the controller cpu for cgroups in %s: %w", dir, err),
					q.remove())
			}
		}
	}
	return q, nil
}

// findQuotas says where the cgroups are to be. Below version 1 that is in this process's own
// cgroup, so that what holds for it holds for the members. Below version 2 a cgroup that has
// processes may not share out its CPU, unless it is the root.
func findQuotas(mount, self string) (*quotas, error) {
	name := fmt.Sprintf("podesta-peers-%d", os.Getpid())
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return &quotas{dir: filepath.Join(mount, name), v2: true}, nil
	}
	own, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || !slices.Contains(strings.Split(fields[1], ","), "cpu") {
			continue
		}
		dir := filepath.Join(mount, fields[1], fields[2])
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return &quotas{dir: filepath.Join(dir, name)}, nil
		}
	}
	return nil, fmt.Errorf("no cgroup controller cpu below %s: mount one, of version 1 or 2", mount)
}

// wrap makes the cgroup of a member, and returns the command that starts the member in it.
func (q *quotas) wrap(member string, command []string) ([]string, error) {
	dir := filepath.Join(q.dir, member)
	//nolint:gosec // cgroups are no secret
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := q.limit(dir); err != nil {
		return nil, fmt.Errorf("the CPU quota of %s: %w", member, err)
	}
	return append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`,
		filepath.Join(dir, "cgroup.procs")}, command...), nil
}

func (q *quotas) limit(dir string) error {
	if q.v2 {
		return write(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period))
	}
	return errors.Join(write(dir, "cpu.cfs_period_us", fmt.Sprint(period)),
		write(dir, "cpu.cfs_quota_us", fmt.Sprint(quota)))
}

// remove removes the cgroups, whose members must have ended.
func (q *quotas) remove() error {
	members, err := os.ReadDir(q.dir)
	if err != nil {
		return err
	}
	var all []error
	for _, m := range members {
		if m.IsDir() {
			all = append(all, os.Remove(filepath.Join(q.dir, m.Name())))
		}
	}
	return errors.Join(append(all, os.Remove(q.dir))...)
}

func write(dir, file, text string) error {
	//nolint:gosec // the kernel owns the file
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}
