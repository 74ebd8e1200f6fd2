package agent

import "github.com/podesta-dev/podesta/internal/lease"

// renewals are when the newest rounds of renewals were sent, to measure how long a grant takes.
type renewals [32]struct {
	round uint64
	at    lease.Instant
}

// sent notes a round; the first request of a round counts for all of it.
func (r *renewals) sent(round uint64, now lease.Instant) {
	if slot := &r[round%uint64(len(r))]; slot.round != round {
		slot.round, slot.at = round, now
	}
}

// took is how long the grant of a round took; false: that round is not known, or too long ago.
func (r *renewals) took(round uint64, now lease.Instant) (lease.Instant, bool) {
	slot := r[round%uint64(len(r))]
	return now - slot.at, round != 0 && slot.round == round
}
