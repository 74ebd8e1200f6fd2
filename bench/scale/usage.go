package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how many clock ticks /proc counts a second, on every architecture of Linux.
const ticks = 100

// stat returns the fields of /proc/PID/stat after the program's name: the first is the state.
func stat(pid int) (name string, fields []string, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", nil, err
	}
	begin, end := strings.IndexByte(string(content), '('), strings.LastIndexByte(string(content), ')')
	if begin < 0 || end < begin {
		return "", nil, fmt.Errorf("/proc/%d/stat has no name: %q", pid, content)
	}
	return string(content[begin+1 : end]), strings.Fields(string(content[end+1:])), nil
}

// usage is what a process has had of the CPUs, all its threads together.
type usage struct {
	ran    time.Duration
	waited time.Duration // ready, and others ran
}

// usageOf reads the usage of a process; of threads that have ended it has what they ran.
func usageOf(pid int) (usage, error) {
	_, fields, err := stat(pid)
	if err != nil {
		return usage{}, err
	}
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	var u usage
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, err
		}
		u.ran += time.Duration(n) * time.Second / ticks
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return usage{}, err
	}
	for _, path := range threads {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		if fields := strings.Fields(string(content)); len(fields) > 1 {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return usage{}, err
			}
			u.waited += time.Duration(n)
		}
	}
	return u, nil
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

// childNamed finds a child of this process by its program's name.
func childNamed(name string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		// a process that has ended meanwhile is not the one
		if own, fields, err := stat(pid); err == nil && own == name && len(fields) > 1 &&
			fields[1] == strconv.Itoa(os.Getpid()) {
			return pid, nil
		}
	}
	return 0, errors.New("no child of this process is " + name)
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
