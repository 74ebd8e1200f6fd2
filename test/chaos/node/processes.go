package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// errEnded is that a container has no process any more.
var errEnded = errors.New("it has no process here")

// processes returns all processes of containers, which are known by their IDs. It is errEnded if
// one has none: what was to be tried was not.
func processes(containers []string) ([]int, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var pids []int
	for _, file := range groups {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		for _, id := range containers {
			if strings.Contains(string(text), id) {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				if err != nil {
					return nil, err
				}
				found[id] = true
				pids = append(pids, pid)
			}
		}
	}
	for _, id := range containers {
		if !found[id] {
			return nil, fmt.Errorf("container %s: %w", id, errEnded)
		}
	}
	return pids, nil
}

// keepFiles links every file below some directories into one, under a name made of its path and its
// inode: a log that was rotated is another file of the same path.
func keepFiles(from []string, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, dir := range from {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // it has gone meanwhile
			}
			info, err := entry.Info()
			if err != nil {
				return nil //nolint:nilerr // likewise
			}
			stat, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				return fmt.Errorf("%s: no inode", path)
			}
			name := strings.ReplaceAll(strings.Trim(path, "/"), "/", "+")
			//nolint:gosec // it is root, and the kubelet is the one who writes there
			err = os.Link(path, filepath.Join(to, fmt.Sprintf("%s+%d", name, stat.Ino)))
			if err != nil && !os.IsExist(err) && !os.IsNotExist(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
