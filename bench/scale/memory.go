package main

import (
	"context"

	"github.com/podesta-dev/podesta/bench/exposition"
)

// The memory of the manager is measured three times: when it has nothing to do, with groups and
// pods that have no agents, and with all agents.

func (s *site) measureEmpty(ctx context.Context) error {
	return s.measureMemory(ctx, "empty", s.managers[0], "leader")
}

func (s *site) measureObjects(ctx context.Context) error {
	leader, err := s.leading()
	if err != nil {
		return err
	}
	return s.measureMemory(ctx, "objects", leader, "leader")
}

// measureMemory adds what a manager has in memory.
func (s *site) measureMemory(ctx context.Context, phase string, m *manager, who string) error {
	resident, err := memoryOf(m.process.PID, "VmRSS")
	if err != nil {
		return err
	}
	s.results.add(phase, "resident, "+who, float64(resident)/mebibyte, "MiB")
	values, err := exposition.Get(ctx, "http://"+m.metrics+"/metrics")
	if err != nil {
		return err
	}
	for _, v := range []struct{ what, metric string }{
		{"heap in use", "go_memstats_heap_alloc_bytes"},
		{"stacks", "go_memstats_stack_inuse_bytes"},
		{"from the system", "go_memstats_sys_bytes"},
	} {
		s.results.add(phase, v.what+", "+who, values[v.metric]/mebibyte, "MiB")
	}
	s.results.add(phase, "goroutines, "+who, values["go_goroutines"], "")
	return nil
}
