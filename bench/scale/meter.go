package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// meter measures what a phase costs.
type meter struct {
	begun  time.Time
	cpu    map[string]usage   // by process
	writes map[string]float64 // by resource
	leader *manager

	// What the phase had used when its load ended, and how long that took; 0: it has no load of its
	// own, and counts to its end.
	used   map[string]usage
	loaded time.Duration
}

// begin begins to measure.
func (s *site) begin(ctx context.Context) (m meter, err error) {
	if m.leader, err = s.leading(); err != nil {
		return m, err
	}
	if err := resetPeak(m.leader.process.PID); err != nil {
		return m, err
	}
	if m.writes, err = s.writes(ctx); err != nil {
		return m, err
	}
	m.begun = time.Now()
	m.cpu, err = s.cpu(m.leader)
	return m, err
}

// unload ends the load of a phase: what comes afterwards does not count for CPU.
func (s *site) unload(m *meter) (err error) {
	m.loaded = time.Since(m.begun)
	m.used, err = s.cpu(m.leader)
	return err
}

// end adds the figures: CPU in percent of one core, how long threads were ready and waited for one
// (together, so it may be above 100 %), writes, and the leader's memory.
func (s *site) end(ctx context.Context, m meter, phase string) error {
	if m.loaded == 0 {
		if err := s.unload(&m); err != nil {
			return err
		}
	}
	writes, err := s.writes(ctx)
	if err != nil {
		return err
	}
	s.results.add(phase, "length", time.Since(m.begun).Seconds(), "s")
	for _, name := range []string{"manager", "kube-apiserver", "etcd", "generator"} {
		was, is := m.cpu[name], m.used[name]
		s.results.add(phase, "CPU of "+name, percent(is.ran-was.ran, m.loaded), "% of a core")
		s.results.add(phase, name+" waited for a core", percent(is.waited-was.waited, m.loaded),
			"% of the time")
	}
	sum := 0.0
	for _, resource := range writtenByManager {
		n := writes[resource] - m.writes[resource]
		sum += n
		if n > 0 {
			s.results.add(phase, "writes of "+resource, n, "")
		}
	}
	s.results.add(phase, "writes of the manager, but its Lease", sum, "")
	peak, err := memoryOf(m.leader.process.PID, "VmHWM")
	if err != nil {
		return err
	}
	s.results.add(phase, "resident at most, leader", float64(peak)/mebibyte, "MiB")
	return nil
}

func percent(part, of time.Duration) float64 { return part.Seconds() / of.Seconds() * 100 }

// cpu is what the processes have used so far.
func (s *site) cpu(leader *manager) (map[string]usage, error) {
	pids := map[string]int{"manager": leader.process.PID, "generator": os.Getpid()}
	maps.Copy(pids, s.pids)
	used := map[string]usage{}
	for name, pid := range pids {
		var err error
		if used[name], err = usageOf(pid); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return used, nil
}

// writtenByManager are the resources that the manager writes, but for its Lease, and that this
// program does not write while it measures.
var writtenByManager = []string{"electiongroups", "pods", "events", "configmaps", "services"}

var (
	label   = regexp.MustCompile(`(\w+)="([^"]*)"`)
	mutates = []string{"APPLY", "POST", "PUT", "PATCH", "DELETE"}
)

// writes are how many requests the API server has answered that change something, by resource.
func (s *site) writes(ctx context.Context) (map[string]float64, error) {
	text, err := s.core.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, "apiserver_request_total{")
		if !found {
			continue
		}
		labels, value, _ := strings.Cut(rest, "} ")
		has := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(labels, -1) {
			has[pair[1]] = pair[2]
		}
		if !slices.Contains(mutates, has["verb"]) {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return nil, err
		}
		counts[has["resource"]] += n
	}
	return counts, nil
}
