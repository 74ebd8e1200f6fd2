package membership

import "time"

// MC12: Step-down. An operator may ask that the process that coordinates stop doing so (kubectl
// election step-down). A request has an ID, and is answered once, in the record of the roster:
//
//   - It is refused if the roster or the coordinator is not what the operator saw, if no other
//     process that reports is a candidate, or if the successor that it names is none. While the
//     manager does not know who coordinates, it waits.
//   - Otherwise it stands. While a request stands, the roster gives the process of that name
//     priority 0, and the successor the highest priority of all. The rest follows from what
//     priorities mean.
//   - It ends when its time has passed or, if it has none, when another process coordinates; when
//     it is taken back or another request is made; and when no other process has coordinated for
//     one longest lease on any clock and 5 s, as far as the manager knows.
//
// So one request makes two rosters at most, and changes no voters. Nothing that MC1 to MC11 promise
// depends on it. Without a manager a request neither begins nor ends.

const (
	// MaxPriority is the highest priority on a roster. It is the same as in internal/roster.
	MaxPriority = 1_000_000
	// MaxStepDown is for how long a request stands at most.
	MaxStepDown = 24 * time.Hour
	// farthest is how far away the end of a request may be, by a clock that is behind that of the
	// manager which took it up.
	farthest = MaxStepDown + time.Hour
	// tookOverWithin is for how long nobody else may coordinate while a request stands, beside a
	// lease.
	tookOverWithin = 5 * time.Second
)

// StepDownRequest is what an operator asks for. It is about the roster, the process and the epoch
// that he saw.
type StepDownRequest struct {
	ID         string // empty: there is no request
	Generation int64
	Process    Identity
	Epoch      int64         // 0 in a Classic group
	To         Identity      // who is to coordinate instead; zero: whoever ranks highest
	For        time.Duration // 0: until another process coordinates
}

// Coordinator is the process that the manager knows to coordinate; zero: it knows of none.
type Coordinator struct {
	Identity

	Epoch int64 // 0 in a Classic group
}

// StepDown is the record of a request on a roster.
type StepDown struct {
	ID      string
	Process string // it has priority 0 while the request stands
	To      string // it ranks above all others then; empty: none does
	// Until is when it ends, by the manager's clock; zero: when another process coordinates.
	Until   time.Time
	Outcome Outcome
}

// Outcome is what has become of a request.
type Outcome string

// The outcomes.
const (
	// Standing: the process stands aside.
	Standing Outcome = "Standing"

	// The ends of a request that stood.

	// HandedOver: another process coordinates.
	HandedOver Outcome = "HandedOver"
	// TimeOver: the time that was asked for has passed.
	TimeOver Outcome = "TimeOver"
	// NobodyTookOver: no other process came to coordinate, or went on doing so.
	NobodyTookOver Outcome = "NobodyTookOver"

	// The reasons to refuse one.

	// Outdated: the roster or the coordinator is another one than the operator saw.
	Outdated Outcome = "Outdated"
	// NobodyElse: no other process that reports to the manager is a candidate.
	NobodyElse Outcome = "NobodyElse"
	// SuccessorUnfit: the process that is to coordinate instead is not a candidate, or does not
	// report.
	SuccessorUnfit Outcome = "SuccessorUnfit"
)

// stands reports whether the priorities on the roster follow a request.
func (w *StepDown) stands() bool { return w != nil && w.Outcome == Standing }

// stepDown returns what is to be recorded of the request, if there is one, and when time alone
// would change that.
func (s *State) stepDown(g *group) (record *StepDown, again time.Duration) {
	var last *StepDown
	if s.roster != nil {
		last = s.roster.StepDown
	}
	switch asked := &g.Facts.StepDown; {
	case asked.ID == "":
		record = nil
	case last == nil || last.ID != asked.ID:
		s.without = time.Time{}
		record = g.answer(asked)
	default:
		record = last
	}
	if !record.stands() {
		s.without = time.Time{}
		return record, 0
	}
	return s.goOn(record, g)
}

// answer takes up a new request or refuses it; nil: it has to wait.
func (g *group) answer(asked *StepDownRequest) *StepDown {
	record := &StepDown{
		ID:      asked.ID,
		Process: asked.Process.Name,
		To:      asked.To.Name,
		Outcome: Standing,
	}
	c := &g.Coordinator
	switch generation := generationOf(g.roster); {
	case asked.Generation < generation:
		record.Outcome = Outdated
	case asked.Generation > generation, c.Name == "", c.Epoch < asked.Epoch:
		return nil
	case c.Identity != asked.Process, c.Epoch > asked.Epoch:
		record.Outcome = Outdated
	case asked.To != Identity{} && (asked.To == asked.Process || !g.isCandidate(asked.To)):
		record.Outcome = SuccessorUnfit
	case !g.hasCandidateBeside(asked.Process.Name):
		record.Outcome = NobodyElse
	case asked.For > 0:
		// a status holds whole seconds
		record.Until = g.Now.Add(min(asked.For, MaxStepDown)).Truncate(time.Second)
	}
	return record
}

// goOn returns the record of a request that stands, which may end.
func (s *State) goOn(last *StepDown, g *group) (record *StepDown, again time.Duration) {
	elsewhere := g.Coordinator.Name != "" && g.Coordinator.Name != last.Process
	s.without = heldSince(!elsewhere, s.without, g.Now)
	longest, _ := longestLease(s, g.Facts)
	alone, wait := elapsed(s.without, Outlast(longest)+tookOverWithin, g.Now)
	over, left := elapsed(last.Until, 0, g.Now)
	var outcome Outcome
	switch {
	case last.Until.IsZero() && elsewhere:
		outcome = HandedOver
	case over, left > farthest: // the clock was set back
		outcome = TimeOver
	case alone:
		outcome = NobodyTookOver
	default:
		return last, sooner(wait, left)
	}
	ended := *last
	ended.Outcome = outcome
	s.without = time.Time{}
	return &ended, 0
}

// isCandidate reports whether a pod is a candidate that reports to this manager.
func (g *group) isCandidate(who Identity) bool {
	pod, r := g.pod(who.UID), g.report(who.UID)
	return pod != nil && pod.Name == who.Name && priority(pod) > 0 && r != nil && r.Connected &&
		!r.Leaving && !r.NotCandidate
}

func (g *group) hasCandidateBeside(name string) bool {
	for i := range g.Pods {
		pod := &g.Pods[i]
		if pod.Name != name && g.isCandidate(Identity{Name: pod.Name, UID: pod.UID}) {
			return true
		}
	}
	return false
}

// apply returns the priority of a process while a request may stand.
func (w *StepDown) apply(name string, priority int32) int32 {
	switch {
	case !w.stands() || priority == 0:
		return priority
	case name == w.Process:
		return 0
	case w.To == "":
		return priority
	case name == w.To:
		return MaxPriority
	default:
		return min(priority, MaxPriority-1)
	}
}

// sameRequest reports whether two records say the same.
func sameRequest(a, b *StepDown) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Process == b.Process && a.To == b.To && a.Until.Equal(b.Until) &&
		a.Outcome == b.Outcome
}
