package account

import "time"

// Figures are how well a system led itself within a span.
type Figures struct {
	Span time.Duration `json:"span"`
	// Strikes are the faults that struck a member that led.
	Strikes int `json:"strikes"`
	// Spurious are the changes to another leader that no fault caused.
	Spurious int `json:"spurious"`
	// Lapses are how often a member ceased to lead without a fault, whoever led next.
	Lapses int `json:"lapses"`
	// Leaderless is for how long nobody led; Unprovoked the part of it that no fault began.
	Leaderless time.Duration `json:"leaderless"`
	Unprovoked time.Duration `json:"unprovoked"`
	// Two is for how long more than one member led.
	Two time.Duration `json:"two"`
	// Failovers are the times from a fault until a member led again.
	Failovers []time.Duration `json:"failovers"`
	// Unanswered are faults after which nobody led anew, until the span ended or the member that was
	// stopped went on, and led still.
	Unanswered int `json:"unanswered"`
}
