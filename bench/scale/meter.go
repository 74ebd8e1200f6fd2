package main

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/bench/exposition"
)

// meter measures what a phase costs the leading manager.
type meter struct {
	begun  time.Time
	leader *manager
	ran    float64 // seconds of CPU time of the leader, so far
}

// begin begins to measure.
func (s *site) begin(ctx context.Context) (m meter, err error) {
	if m.leader, err = s.leading(ctx); err != nil {
		return m, err
	}
	if err := resetPeak(m.leader.process.PID); err != nil {
		return m, err
	}
	m.begun = time.Now()
	m.ran, err = m.leader.cpu(ctx)
	return m, err
}

// end adds the figures: the leader's CPU in percent of one core, and its memory.
func (s *site) end(ctx context.Context, m meter, phase string) error {
	used, err := m.leader.cpu(ctx)
	if err != nil {
		return err
	}
	length := time.Since(m.begun).Seconds()
	s.results.add(phase, "length", length, "s")
	s.results.add(phase, "CPU of the leader", 100*(used-m.ran)/length, "% of a core")
	peak, err := peakOf(m.leader.process.PID)
	s.results.add(phase, "resident at most, leader", float64(peak)/mebibyte, "MiB")
	return err
}

// cpu is how many seconds of CPU time the manager has used.
func (m *manager) cpu(ctx context.Context) (float64, error) {
	values, err := m.values(ctx)
	return values["process_cpu_seconds_total"], err
}

// values are the metrics of the manager.
func (m *manager) values(ctx context.Context) (map[string]float64, error) {
	return exposition.Get(ctx, "http://"+m.metrics+"/metrics")
}

// measureEmpty measures a manager that has nothing to do.
func (s *site) measureEmpty(ctx context.Context) error {
	return s.measureMemory(ctx, "empty", s.managers[0], "leader")
}

// measureMemory adds what a manager has in memory.
func (s *site) measureMemory(ctx context.Context, phase string, m *manager, who string) error {
	values, err := m.values(ctx)
	if err != nil {
		return err
	}
	s.results.add(phase, "resident, "+who, values["process_resident_memory_bytes"]/mebibyte, "MiB")
	used := values["go_memstats_heap_alloc_bytes"] + values["go_memstats_stack_inuse_bytes"]
	s.results.add(phase, "heap and stacks in use, "+who, used/mebibyte, "MiB")
	return nil
}
