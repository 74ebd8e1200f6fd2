package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how many clock ticks /proc counts a second, on every architecture of Linux.
const ticks = 100

// cpuOf is what a process has used of the CPUs, all its threads together.
func cpuOf(pid int) (used time.Duration, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(n) * time.Second / ticks
	}
	return used, nil
}

// memoryOf is a line of /proc/PID/status in bytes: VmRSS is what is resident, VmHWM the most that
// was since resetPeak.
func memoryOf(pid int, line string) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(text, line+":"); found {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n * kibibyte, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, line)
}

// resetPeak has VmHWM begin anew.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
}

// listensAt reports whether a process listens at a port: whether one of its sockets is in the
// kernel's list of those that do.
func listensAt(pid int, port string) (bool, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return false, err
	}
	listening, err := listeners(number)
	if err != nil {
		return false, err
	}
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false, err
	}
	for _, path := range all {
		// one that was closed meanwhile is not it
		if target, err := os.Readlink(path); err == nil && listening[target] {
			return true, nil
		}
	}
	return false, nil
}

// listeners are the sockets that listen at a port, as /proc/PID/fd names them.
func listeners(port uint64) (map[string]bool, error) {
	found := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			const listen = "0A"
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == listen &&
				strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				found["socket:["+fields[9]+"]"] = true
			}
		}
	}
	return found, nil
}
