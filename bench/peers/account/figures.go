package account

import (
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// Figures are how well a system led itself within a span.
type Figures struct {
	Span time.Duration `json:"span"`
	// Strikes are the faults that struck a member that led.
	Strikes int `json:"strikes"`
	// Spurious are the changes to another leader that no fault caused.
	Spurious int `json:"spurious"`
	// Lapses are how often a member that no fault had struck ceased to lead, whoever led next.
	Lapses int `json:"lapses"`
	// Leaderless is for how long nobody led; Unprovoked the part of it that no fault began.
	Leaderless time.Duration `json:"leaderless"`
	Unprovoked time.Duration `json:"unprovoked"`
	// Two is for how long more than one member led.
	Two time.Duration `json:"two"`
	// Failovers are the times from a fault until a member led again.
	Failovers Durations `json:"failovers"`
	// Unanswered are faults after which nobody had led anew when the span ended, and those whose
	// member led still when they ended.
	Unanswered int `json:"unanswered"`
}

// Durations are what was measured, in any order.
type Durations []time.Duration

// Quantile is the nearest rank: a value that was measured. It is 0 without any.
func (d Durations) Quantile(q float64) time.Duration {
	return quantile.Of(d, q)
}
