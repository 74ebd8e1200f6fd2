package account

import "time"

// Figures are how well a system led itself within a span.
type Figures struct {
	Span time.Duration
	// Strikes are the faults that struck a member that led.
	Strikes int
	// Spurious are the changes to another leader that no fault caused, by when they were.
	Spurious Durations
	// Lapses are how often a member that no fault had struck ceased to lead, whoever led next.
	Lapses int
	// Leaderless is for how long nobody led whom others reach; Unprovoked the part of it that no fault
	// began.
	Leaderless, Unprovoked time.Duration
	// Minutes are for how long nobody led in each minute; the last one may be shorter.
	Minutes Durations
	// Two is for how long more than one member led.
	Two time.Duration
	// Failovers are the times from a fault until a member led again.
	Failovers Durations
	// ByFault are the same by the fault, of those that have a name.
	ByFault map[string]Durations
	// Interruptions are the faults that lasted, as far as it is known what has come of them.
	Interruptions []Interruption
	// Unanswered are faults after which nobody had led anew when the span ended, and those whose
	// member led still when they ended.
	Unanswered int
}

// Interruption is a fault that lasted, and its end.
type Interruption struct {
	Lasts time.Duration
	End   End
}

// End is what has come of a fault that lasted.
type End string

// Ends of an interruption.
const (
	Outlasted End = "outlasted" // the leader leads when the fault is over, and goes on
	Again     End = "again"     // it ceased, and then it led again
	Another   End = "another"   // another member leads
)

// add adds how long it took until a member led again after a fault.
func (f *Figures) add(fault string, took time.Duration) {
	f.Failovers = append(f.Failovers, took)
	if fault == "" {
		return
	}
	if f.ByFault == nil {
		f.ByFault = map[string]Durations{}
	}
	f.ByFault[fault] = append(f.ByFault[fault], took)
}
