package detector

import "time"

// suspicion is when the coordinator is to be suspected, and why.
type suspicion struct {
	at      Instant // 0: it is not to be suspected
	patient bool    // because it elects; better evidence may come before that
	again   bool    // and once in T from then on; not because of its silence alone
}

func (s *suspicion) due(now Instant) bool { return s.at != 0 && now >= s.at }

// acted notes that the coordinator has been suspected. Should the election come to nothing, it is
// suspected once more.
func (s *suspicion) acted(next Instant) {
	s.at, s.patient = 0, false
	if s.again {
		s.at = next
	}
}

// Closed takes evidence about the coordinator that needs no waiting: of a kernel, or its own word
// that it coordinates not.
func (d *Detector) Closed(process string, now Instant) {
	if process == d.coordinator {
		d.miss(now)
		d.suspicion.again = true
	}
}

// miss takes evidence that the coordinator has failed. The process just below it suspects at once,
// each further one a step later, so that the announcement of the first reaches most of them before
// they call an election too (hazard B11).
func (d *Detector) miss(now Instant) {
	s := &d.suspicion
	if s.at == 0 || s.patient {
		s.at, s.patient = now+min(time.Duration(d.rank())*d.step(), d.T()), false
		d.due = 0
	}
}

// Electing takes the coordinator's word that it takes part in an election. If it is about to win,
// it says so within T; if it has ceased to coordinate, its election is heard of, as a rule sooner.
func (d *Detector) Electing(process string, now Instant) {
	if process == d.coordinator && d.suspicion.at == 0 {
		d.suspicion = suspicion{
			at:      now + d.T(),
			patient: true,
			again:   true,
		}
		d.due = 0
	}
}

// Opened takes the evidence back: the link is there again, or the coordinator says that it is one.
func (d *Detector) Opened(process string) {
	if process == d.coordinator {
		d.suspicion = suspicion{}
	}
}

// step is about what an announcement takes.
func (d *Detector) step() time.Duration {
	return min(max(2*d.round.mean, time.Millisecond), 10*time.Millisecond)
}
