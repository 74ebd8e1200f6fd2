package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

type verdict string

const (
	killed  verdict = "killed"
	alive   verdict = "SURVIVED"
	invalid verdict = "invalid" // does not compile
)

// suites are the tests of packages, and how long they may take with a mutant. Safe for concurrent
// use.
type suites struct {
	mu     sync.Mutex
	limits map[string]time.Duration
}

// try runs the tests of a mutant's package with the mutant.
func (s *suites) try(ctx context.Context, m mutant) (verdict, error) {
	limit, err := s.limit(ctx, m.folder)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	out, err := test(ctx, m.folder, limit, "-overlay="+overlay)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return alive, nil
	case bytes.Contains(out, []byte("[build failed]")):
		return invalid, nil
	}
	return killed, nil
}

// limit returns how long the tests of a package may take with a mutant: far longer than without
// one. The error says that they fail without one.
func (s *suites) limit(ctx context.Context, folder string) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit, ok := s.limits[folder]; ok {
		return limit, nil
	}
	begun := time.Now()
	if out, err := test(ctx, folder, time.Hour); err != nil {
		return 0, fmt.Errorf("%s fails without a mutant: %w\n%s", folder, err, out)
	}
	s.limits[folder] = time.Minute + 3*time.Since(begun)
	return s.limits[folder], nil
}

// test runs the short tests of a package, in the module that it belongs to, on one processor.
func test(
	ctx context.Context, folder string, limit time.Duration, flags ...string,
) ([]byte, error) {
	flags = append([]string{"test", "-short", "-p=1", "-vet=off", "-count=1", "-failfast",
		"-timeout=" + limit.String()}, flags...)
	c := exec.CommandContext(ctx, "go", append(flags, ".")...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) } // its tests, too
	return c.CombinedOutput()
}

// overlay writes the changed file, and what tells the compiler to use it.
func (m mutant) overlay(dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(m.folder, m.file))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	return overlay, errors.Join(err, os.WriteFile(changed, m.apply(source), 0o600),
		os.WriteFile(overlay, text, 0o600))
}
