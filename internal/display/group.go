package display

import (
	"slices"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// State is the condition of a group in one word.
type State string

// The states, the gravest first.
const (
	// NoCoordinator: nobody coordinates, as far as the manager knows.
	NoCoordinator State = "NoCoordinator"
	// Disputed: a process of a Classic group claims to coordinate, and most do not follow it.
	Disputed State = "Disputed"
	// Stalled: a process coordinates, and something else waits for a person.
	Stalled State = "Stalled"
	// Unknown: the status does not say whether a process coordinates.
	Unknown State = "Unknown"
	// Degraded: a process coordinates, and others are missing, or disagree.
	Degraded State = "Degraded"
	// Changing: a process coordinates, and the manager is still applying the spec.
	Changing State = "Changing"
	// Healthy: a process coordinates, and nothing is wrong or under way.
	Healthy State = "Healthy"
)

// Severity orders states: 0 is the gravest.
func (s State) Severity() int {
	return slices.Index([]State{NoCoordinator, Disputed, Stalled, NotUpdated, Unknown, Degraded,
		Changing, Healthy}, s)
}

// Group is what is shown of an ElectionGroup.
type Group struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// LastState is the state as the manager left it; empty unless State is NotUpdated.
	LastState State `json:"lastState,omitempty"`
	// Current is how current all of this is; nil if nobody has looked.
	Current *Current `json:"current,omitempty"`
	// Reason is the reason of the condition behind State; empty if it is Healthy.
	Reason string `json:"reason,omitempty"`
	// Safety is Guarded or Classic.
	Safety    string `json:"safety"`
	Algorithm string `json:"algorithm"`
	// Coordinator is nil while nobody coordinates.
	Coordinator *Coordinator `json:"coordinator,omitempty"`
	// Running is how many processes on the roster run, of how many, for example 4/5, as the status has
	// it; empty: the status does not say.
	Running string `json:"running,omitempty"`
	// Voters is nil in Classic groups, which have none.
	Voters *Voters `json:"voters,omitempty"`
	Next   Next    `json:"next"`
	Timing Timing  `json:"timing"`
	// Preemption is nil in Classic groups: there the highest process takes over at once.
	Preemption *Preemption `json:"preemption,omitempty"`
	// StepDown is nil unless an operator keeps a process from coordinating.
	StepDown *StepDown `json:"stepDown,omitempty"`
	// Generation is that of the roster; 0 while there is none.
	Generation int64 `json:"rosterGeneration,omitempty"`
	// Elections are the last ones, newest first.
	Elections []Election `json:"elections,omitempty"`
	// Problems are what calls for attention, the gravest first.
	Problems []Problem `json:"problems,omitempty"`
	// Views are whom the connected processes follow, the most followed first.
	Views []View `json:"views,omitempty"`
	// Disagree is true if the connected processes name more than one coordinator.
	Disagree bool `json:"disagree,omitempty"`
	// Processes is the process status table in the order of rank: who may coordinate first is first.
	Processes []Process `json:"processes,omitempty"`
}

// Coordinator is the process that coordinates.
type Coordinator struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	// Epoch is generation.ballot; empty in Classic groups.
	Epoch string `json:"displayEpoch,omitempty"`
	// Since is when the manager first saw it coordinate, and Seconds how long ago that is.
	Since   *time.Time `json:"since,omitempty"`
	Seconds int64      `json:"seconds,omitempty"`
}

// Timing is what spec.timing comes to, in milliseconds. Lease is 0 in Classic groups.
type Timing struct {
	Heartbeat int32 `json:"heartbeatMilliseconds"`
	Timeout   int32 `json:"timeoutMilliseconds"`
	Lease     int32 `json:"leaseMaximumMilliseconds,omitempty"` // the longest
	// LeaseMinimum is the shortest lease that the coordinator of a group of this size asks for.
	LeaseMinimum int32 `json:"leaseMinimumMilliseconds,omitempty"`
}

// Preemption is spec.preemption. StableSeconds is 0 unless the policy is Delayed.
type Preemption struct {
	Policy        string `json:"policy"`
	StableSeconds int32  `json:"stableSeconds,omitempty"`
}

// Election is an election that gave the group a coordinator. What agents have not told of it is
// empty or nil.
type Election struct {
	// At is when the manager first saw its result, and Seconds how long ago that is.
	At      *time.Time `json:"at,omitempty"`
	Seconds int64      `json:"seconds,omitempty"`
	// To is who was elected, and From the coordinator before; empty: there was none.
	To   string `json:"to"`
	From string `json:"from,omitempty"`
	// Epoch is generation.ballot; empty in Classic groups.
	Epoch     string `json:"displayEpoch,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Messages is how many were sent, and AtMost how many one election takes by the page of the
	// algorithm.
	Messages     *int32 `json:"messages,omitempty"`
	AtMost       *int32 `json:"messagesAtMost,omitempty"`
	Milliseconds *int64 `json:"durationMilliseconds,omitempty"`
}

// View is a coordinator that connected processes follow.
type View struct {
	// Coordinator is empty for the processes that follow nobody.
	Coordinator string   `json:"coordinator"`
	Processes   []string `json:"processes"`
}

// Process is a row of the process status table.
type Process struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	// State is Normal, Coordinator, Crashed or Unknown.
	State string `json:"state"`
	// Standing is whether the process may coordinate.
	Standing  Standing `json:"standing"`
	Connected bool     `json:"connected"`
	// Agrees is true if the process is connected and follows the group's coordinator.
	Agrees bool `json:"agrees"`
	// Follows and Epoch are the process's own view; empty if it has none, or is not connected.
	Follows string `json:"follows,omitempty"`
	Epoch   string `json:"displayEpoch,omitempty"`
	Voter   bool   `json:"voter,omitempty"`
	// Witness is true if it never coordinates and, in a Guarded group, only votes.
	Witness bool `json:"witness,omitempty"`
	// Agent is Missing or Outdated, and Version the version of an outdated one.
	Agent   string `json:"agent,omitempty"`
	Version string `json:"agentVersion,omitempty"`
	// GoneSeconds is for how long the pod of a voter has been missing; 0 if it is not.
	GoneSeconds int64 `json:"goneSeconds,omitempty"`
	Forgotten   bool  `json:"forgotten,omitempty"`
	// UID and StateID are of the member of that name on the roster.
	UID     string `json:"uid,omitempty"`
	StateID string `json:"stateID,omitempty"`
	// raised is true while a request to step down ranks it above all others.
	raised bool
}

// Of returns what is shown of a group.
func Of(g *v1.ElectionGroup, now time.Time) Group {
	s := newSubject(g, now)
	shown := Group{
		Namespace:   name(g.Namespace),
		Name:        name(g.Name),
		Safety:      word(string(s.safety)),
		Algorithm:   word(string(g.Spec.Algorithm)),
		Coordinator: s.coordinator,
		Voters:      s.voters,
		Next:        s.next(),
		Timing:      s.timing,
		Preemption:  s.preemption,
		StepDown:    stepDownOf(g),
		Processes:   s.processes,
		Problems:    s.problems(),
		Running:     word(g.Status.Running),
		Elections:   s.elections(now),
	}
	shown.State, shown.Reason = s.state()
	shown.Views, shown.Disagree = viewsOf(s.processes)
	if r := g.Status.Roster; r != nil {
		shown.Generation = r.Generation
	}
	return shown
}

func (s *subject) elections(now time.Time) []Election {
	shown := make([]Election, 0, len(s.group.Status.Elections))
	for _, e := range s.group.Status.Elections {
		one := Election{
			To:           name(e.To),
			From:         name(e.From),
			Algorithm:    word(string(e.Algorithm)),
			Initiator:    name(e.Initiator),
			Reason:       word(string(e.Reason)),
			Messages:     e.Messages,
			AtMost:       e.MessagesAtMost,
			Milliseconds: e.DurationMilliseconds,
		}
		if s.guarded() {
			one.Epoch = epoch(e.Epoch)
		}
		if !e.At.IsZero() {
			one.At, one.Seconds = new(e.At.UTC()), seconds(now, e.At.Time)
		}
		shown = append(shown, one)
	}
	return shown
}
