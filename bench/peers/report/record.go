// Package report is what the measurements are written down as, and the page that is made of it.
package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// Kinds of records.
const (
	Stress   = "stress"
	Failover = "failover"
)

// Record is what one system did under one condition, or after one kind of fault: a line of JSON.
// Durations are in milliseconds.
type Record struct {
	Kind    string    `json:"kind"`
	Begun   time.Time `json:"begun"`
	Machine string    `json:"machine"`
	Command string    `json:"command"`           // what to run to repeat it
	Version string    `json:"version"`           // of Podesta's agent
	Harness string    `json:"harness,omitempty"` // the commit of this program; older records have none
	System  string    `json:"system"`

	// Under is the condition, or the fault.
	Under string `json:"under"`
	// Took are the times from a fault until a member led (Stress), or until all survivors named the
	// same new leader (Failover).
	Took []float64 `json:"took"`
	// ByFault are the same of Stress by the fault; older records have none.
	ByFault map[string][]float64 `json:"byFault,omitempty"`
	// Interruptions are the faults of Stress that lasted; older records have none.
	Interruptions []Interruption `json:"interruptions,omitempty"`
	// Unanswered are faults without a new leader until the end.
	Unanswered int `json:"unanswered"`

	// The rest is for Stress. Faults are those that leaders were struck with, and Strikes how often;
	// Apart is how far they were apart at least, in seconds; 0: 2 s.
	// Spurious changes are counted from the begin of the span; Minutes are for how long nobody led in
	// each.
	Span       float64   `json:"span,omitempty"` // seconds
	Faults     []string  `json:"faults,omitempty"`
	Apart      float64   `json:"apart,omitempty"`
	Strikes    int       `json:"strikes,omitempty"`
	Spurious   []float64 `json:"spurious,omitempty"`
	Lapses     int       `json:"lapses,omitempty"`
	Leaderless float64   `json:"leaderless,omitempty"`
	Unprovoked float64   `json:"unprovoked,omitempty"`
	Minutes    []float64 `json:"minutes,omitempty"`
	Two        float64   `json:"two,omitempty"`
	CPU        float64   `json:"cpu,omitempty"` // percent of a core
	Crashes    int       `json:"crashes,omitempty"`
	// Leases are those that Podesta's leaseholder asked for, at each look; AgentLapses those that ran
	// out.
	Leases      []float64 `json:"leases,omitempty"`
	AgentLapses int       `json:"agentLapses,omitempty"`
	// Standstills are those of the machine itself, if it was Watched, and Late is when messages were
	// late on their ways, if these were: package lateness.
	Watched     bool   `json:"watched,omitempty"`
	Standstills []Late `json:"standstills,omitempty"`
	WaysWatched bool   `json:"waysWatched,omitempty"`
	Late        []Late `json:"late,omitempty"`
}

// Interruption is a fault that lasted, and what has come of it.
type Interruption struct {
	For float64     `json:"for"`
	End account.End `json:"end"`
}

// Late is when something was late, from the begin of the span, and for how long.
type Late struct {
	At  float64 `json:"at"`
	For float64 `json:"for"`
}

// A change of leader counts as following from something that was late for at least so long, if it
// came within the aftermath, in milliseconds. Raft with its defaults takes up to 3 s for a change.
const (
	mayDepose = 50 // about half of the shortest lease
	aftermath = 3000
)

// spurious says how many changes no fault caused, and how many of these followed a standstill, or
// late messages where the machine did not stand still, that may have deposed a leader.
func (r Record) spurious() string {
	still, late := 0, 0
	for _, at := range r.Spurious {
		switch {
		case follows(at, r.Standstills):
			still++
		case follows(at, r.Late):
			late++
		}
	}
	text := fmt.Sprint(len(r.Spurious))
	if still > 0 {
		text += fmt.Sprintf(", %d after a standstill", still)
	}
	if late > 0 {
		text += fmt.Sprintf(", %d after late messages", late)
	}
	return text
}

// follows: the instant, from the begin of the span, is in the aftermath of something that was late.
func follows(at float64, all []Late) bool {
	return slices.ContainsFunc(all, func(l Late) bool {
		return l.For >= mayDepose && l.At <= at && at <= l.At+l.For+aftermath
	})
}

// times says how often something was late; empty: nobody watched.
func times(watched bool, all []Late) string {
	switch {
	case !watched:
		return ""
	case len(all) == 0:
		return "never"
	case len(all) == 1:
		return fmt.Sprintf("once, %.0f ms", all[0].For)
	}
	longest := slices.MaxFunc(all, func(x, y Late) int { return cmp.Compare(x.For, y.For) })
	return fmt.Sprintf("%d times, up to %.0f ms", len(all), longest.For)
}

// Newest returns of each measurement the newest record, in the order in which the measurements were
// made first: what is measured again replaces what was measured before.
func Newest(all []Record) []Record {
	type measurement struct {
		kind, system, under, faults string
		apart                       float64
	}
	at := map[measurement]int{}
	var kept []Record
	for _, r := range all {
		m := measurement{r.Kind, r.System, r.Under, strings.Join(r.Faults, ","), r.Apart}
		i, known := at[m]
		switch {
		case !known:
			at[m] = len(kept)
			kept = append(kept, r)
		case !r.Begun.Before(kept[i].Begun):
			kept[i] = r
		}
	}
	return kept
}

// lapses says how often a leader lost its permission, and how often a member ended by itself.
func (r Record) lapses() string {
	if r.Crashes == 0 {
		return fmt.Sprint(r.Lapses)
	}
	return fmt.Sprintf("%d; %d members crashed", r.Lapses, r.Crashes)
}

// part is what the page calls the measurement.
func (r Record) part() string {
	if r.Kind == Failover {
		return "a leader ends"
	}
	if strings.Join(r.Faults, ",") == short {
		return r.under() + " with interruptions of a moment"
	}
	return r.under()
}

// under is the condition, or the fault, and how far the faults are apart if not as far as they
// usually are.
func (r Record) under() string {
	if r.Apart == 0 {
		return r.Under
	}
	return fmt.Sprintf("%s (%g to %g s apart)", r.Under, r.Apart, 3*r.Apart)
}

// durations are those that Took has.
func (r Record) durations() account.Durations { return account.Milliseconds(r.Took) }

// perMinute is for how long nobody led, in each minute.
func (r Record) perMinute() account.Durations { return account.Milliseconds(r.Minutes) }

// Append writes a record at the end of a file.
func Append(file string, r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	//nolint:gosec // it is no secret
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Read reads the records of a file.
func Read(file string) ([]Record, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20) // an hour has a thousand faults
	for n := 1; lines.Scan(); n++ {
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if r.Kind != Stress && r.Kind != Failover || r.System == "" || r.Under == "" {
			return nil, fmt.Errorf("%s, line %d: no record of peers", file, n)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}
