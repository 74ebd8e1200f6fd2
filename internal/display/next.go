package display

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Next is who would coordinate if the coordinator died now, as far as the status shows that. It is
// no promise: the processes decide, and know more.
type Next struct {
	// Process is the highest candidate that reports to the manager. It is empty if there is none, or
	// if no majority of the voters would be left.
	Process  string `json:"process,omitempty"`
	Priority int32  `json:"priority,omitempty"`
	// Text is that as a sentence.
	Text string `json:"text"`
	// After is for about how long nobody would coordinate at most: in Guarded groups, the longest
	// lease, and in Classic ones, the longest time until a coordinator that stands still is suspected.
	// In milliseconds; 0 if Process is empty or nobody coordinates now.
	After int32 `json:"afterMilliseconds,omitempty"`
	// AtLeast is the shortest lease, if the coordinator may ask for less than the longest; else 0.
	AtLeast int32 `json:"afterAtLeastMilliseconds,omitempty"`
	// Wait is that in words.
	Wait string `json:"wait,omitempty"`
	// NotCertain are what may make another process the next one.
	NotCertain []string `json:"notCertain,omitempty"`
}

func (s *subject) next() Next {
	var n Next
	best := s.highestCandidate()
	switch {
	case !slices.ContainsFunc(s.processes, func(p Process) bool { return p.Connected }):
		n.Text = "not known: no process reports to the manager"
		return n
	case !s.majorityOfOthers():
		n.Text = s.tooFewVoters()
		n.NotCertain = s.otherVotersMayRun()
		return n
	case best == nil && s.coordinator == nil:
		n.Text = "nobody: no process that reports to the manager is a candidate"
	case best == nil:
		n.Text = "nobody: no other process that reports to the manager is a candidate"
	default:
		n.Process, n.Priority = best.Name, best.Priority
		why := "the highest candidate that reports to the manager"
		if best.raised {
			why = "which ranks above all others while the request to step down stands"
		}
		n.Text = fmt.Sprintf("%s (priority %d), %s", best.Name, best.Priority, why)
	}
	if best != nil && s.coordinator != nil {
		n.After, n.Wait = s.after(), s.wait()
		if s.timing.LeaseMinimum < s.timing.Lease {
			n.AtLeast = s.timing.LeaseMinimum
		}
	}
	n.NotCertain = s.mayBeNext(best)
	return n
}

// highestCandidate is the highest candidate besides the coordinator; nil if there is none. Every
// algorithm elects it if messages arrive.
func (s *subject) highestCandidate() *Process {
	for i := range s.processes {
		if s.processes[i].Standing == StandingCandidate {
			return &s.processes[i]
		}
	}
	return nil
}

// reportingOthers is how many voters besides the coordinator report to the manager.
func (s *subject) reportingOthers() int {
	n := 0
	for i := range s.processes {
		if p := &s.processes[i]; p.reportsAsVoter() && p.Name != s.coordinatorName() {
			n++
		}
	}
	return n
}

// majorityOfOthers reports whether enough voters report besides the coordinator. A group without
// voters needs none, or has none yet.
func (s *subject) majorityOfOthers() bool {
	return s.voters == nil || s.voters.Total == 0 || s.reportingOthers() >= s.voters.Majority
}

func (s *subject) tooFewVoters() string {
	without := ""
	if s.coordinator != nil {
		without = "without " + s.coordinatorName() + ", "
	}
	return fmt.Sprintf("nobody, as far as the status shows: %s%d of the %d voters report to the "+
		"manager, and a majority is %d", without, s.reportingOthers(), s.voters.Total,
		s.voters.Majority)
}

// otherVotersMayRun are what may give a majority all the same.
func (s *subject) otherVotersMayRun() []string {
	var silent []string
	for _, p := range s.processes {
		if p.Voter && (p.Standing == StandingSilent ||
			p.Witness && p.State == string(v1.ProcessUnknown)) {
			silent = append(silent, p.Name)
		}
	}
	var may []string
	if len(silent) > 0 {
		may = append(may, fmt.Sprintf("%s %s: voters that run can vote without the manager",
			Enumerate(silent), StandingSilent.why(len(silent))))
	}
	if s.coordinator == nil {
		return append(may, s.otherRoster()...)
	}
	may = append(may, fmt.Sprintf("when %s is known to have ended, the manager removes it from the "+
		"voters, and the others may be a majority then", s.coordinatorName()))
	return append(may, s.otherRoster()...)
}

// otherRoster says that the voters are not those that the agents use, if that is so.
func (s *subject) otherRoster() []string {
	if s.voters == nil || !s.voters.Outdated {
		return nil
	}
	return []string{"agents use a newer roster than the status holds, so the voters may be others"}
}

// mayBeNext are the reasons why a process other than best may be next.
func (s *subject) mayBeNext(best *Process) []string {
	var silent, may []string
	for i := range s.processes {
		p := &s.processes[i]
		if p == best {
			break
		}
		if p.Standing == StandingSilent && p.Priority > 0 {
			silent = append(silent, p.Name)
		}
	}
	if len(silent) > 0 {
		rank := "ranks higher, and"
		if len(silent) > 1 {
			rank = "rank higher, and"
		}
		if best == nil {
			rank = ""
		}
		may = append(may, strings.Join(strings.Fields(fmt.Sprintf(
			"%s %s %s: elections need no manager, so a process that runs may be next",
			Enumerate(silent), rank, StandingSilent.why(len(silent)))), " "))
	}
	if best != nil && best.Agent == "Outdated" {
		may = append(may, fmt.Sprintf("the agent of %s is of another version than the manager: one "+
			"that is too old does not say that it is no candidate", best.Name))
	}
	return append(may, s.otherRoster()...)
}

func (s *subject) after() int32 {
	if s.guarded() {
		return s.timing.Lease
	}
	return s.timing.Heartbeat + s.timing.Timeout
}

// wait says for how long about nobody would coordinate. It promises no more than
// docs/reference/lease.md and docs/reference/algorithms do.
func (s *subject) wait() string {
	t := s.timing
	if !s.guarded() {
		return fmt.Sprintf("milliseconds if the process ends, because its connections close; if it "+
			"stands still or its machine vanishes, up to about %v (a heartbeat and the timeout) until "+
			"it is suspected; then one election", Milliseconds(t.Heartbeat+t.Timeout))
	}
	return fmt.Sprintf("about %v, the lease: the voters' promises to %s must run out first; less "+
		"if it hands over", t.LeaseRange(), s.coordinatorName())
}

// LeaseRange says how long the lease is. The coordinator decides that between two bounds, by what
// it measures; the status does not show it.
func (t Timing) LeaseRange() string {
	if t.LeaseMinimum < t.Lease {
		return fmt.Sprintf("%v to %v", Milliseconds(t.LeaseMinimum), Milliseconds(t.Lease))
	}
	return Milliseconds(t.Lease)
}

// Milliseconds returns a number of milliseconds as people write it: 600ms, 1s, 1m30s.
func Milliseconds(n int32) string { return Duration(asDuration(n)) }

// Duration returns a duration as people write it: 600ms, 1m30s, 10m, 24h.
func Duration(d time.Duration) string {
	text := d.String()
	if cut, ok := strings.CutSuffix(text, "m0s"); ok {
		text = cut + "m"
	}
	if cut, ok := strings.CutSuffix(text, "h0m"); ok {
		text = cut + "h"
	}
	return text
}

// Enumerate names the first five of some things, and says how many more there are.
func Enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
