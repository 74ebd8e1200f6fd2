package main

import "time"

// meter measures what a phase costs the leading manager.
type meter struct {
	begun  time.Time
	leader *manager
	ran    time.Duration // CPU time of the leader, so far
	// What it had used when the load of the phase ended, and how long that took; 0: it has no load of
	// its own, and counts to its end.
	used, loaded time.Duration
}

// begin begins to measure.
func (s *site) begin() (m meter, err error) {
	if m.leader, err = s.leading(); err != nil {
		return m, err
	}
	if err := resetPeak(m.leader.process.PID); err != nil {
		return m, err
	}
	m.begun = time.Now()
	m.ran, err = cpuOf(m.leader.process.PID)
	return m, err
}

// unload ends the load of a phase: what comes afterwards does not count for CPU.
func (m *meter) unload() (err error) {
	m.loaded = time.Since(m.begun)
	m.used, err = cpuOf(m.leader.process.PID)
	return err
}

// end adds the figures: the leader's CPU in percent of one core, and its memory.
func (s *site) end(m meter, phase string) error {
	if m.loaded == 0 {
		if err := m.unload(); err != nil {
			return err
		}
	}
	s.results.add(phase, "length", time.Since(m.begun).Seconds(), "s")
	s.results.add(phase, "CPU of the leader", 100*(m.used-m.ran).Seconds()/m.loaded.Seconds(),
		"% of a core")
	peak, err := memoryOf(m.leader.process.PID, "VmHWM")
	s.results.add(phase, "resident at most, leader", float64(peak)/mebibyte, "MiB")
	return err
}
