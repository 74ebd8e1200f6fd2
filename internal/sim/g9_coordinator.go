package sim

import "github.com/podesta-dev/podesta/internal/election"

// G9: who is followed is on the follower's roster, and may coordinate.

func (w *World) checkCoordinator(p int32, s *election.State) {
	if s.Coordinator == "" {
		return
	}
	priority, known := w.priorityOf(p, s.Coordinator)
	switch {
	case !known:
		w.fail("G9: %s follows %s, which is not on its roster", names[p], s.Coordinator)
	case priority <= 0:
		w.fail("G9: %s follows %s, which never coordinates", names[p], s.Coordinator)
	case s.Coordinator == names[p] && s.Withdrawn:
		w.fail("G9: %s coordinates though it has withdrawn", names[p])
	}
}
