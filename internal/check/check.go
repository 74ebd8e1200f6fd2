package check

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/display"
)

// State is how a check ended.
type State string

// The states, worst first.
const (
	// Failed: Podesta cannot be installed, or a part of it does not work.
	Failed State = "Failed"
	// Warning: it works, but not as well as it could, or not for long.
	Warning State = "Warning"
	// Unknown: what is needed to tell could not be read.
	Unknown State = "Unknown"
	// OK: it is as it should be.
	OK State = "OK"
)

// order is the order of the states, worst first.
var order = []State{Failed, Warning, Unknown, OK}

// Result is what one check found.
type Result struct {
	// Section is what the check is about; results of one section follow each other.
	Section string `json:"section"`
	// Check is what should be so, as a sentence without a full stop.
	Check string `json:"check"`
	State State  `json:"state"`
	// Unread is true if the check could not be made: what it looks at could not be read.
	Unread bool `json:"unread,omitempty"`
	// Found is what is so instead; or more about what is so.
	Found string `json:"found,omitempty"`
	// Do is what to do about it.
	Do string `json:"do,omitempty"`
}

// Read is a value that was read, or why it could not be. The zero Read was not asked for.
type Read[T any] struct {
	Value T
	Err   error
}

// Before checks whether Podesta can be installed.
func Before(f *Facts) []Result {
	b := &book{}
	b.cluster(f)
	b.mayInstall(f)
	return b.results
}

// Installed checks an installation, and the namespaces that were read.
func Installed(f *Facts) []Result {
	b := &book{}
	b.cluster(f)
	if !b.definition(f) || !b.manager(f) {
		return b.results // without it, each further check would fail for the same reason
	}
	b.policies(f)
	b.namespaces(f)
	return b.results
}

// Worst returns the worst state of some results; OK if there are none.
func Worst(results []Result) State {
	worst := OK
	for _, r := range results {
		if slices.Index(order, r.State) < slices.Index(order, worst) {
			worst = r.State
		}
	}
	return worst
}

// Unread returns how many checks could not be made.
func Unread(results []Result) (n int) {
	for _, r := range results {
		if r.Unread {
			n++
		}
	}
	return n
}

// book is where results are written down.
type book struct {
	section string
	results []Result
}

// judge writes a result down: OK if nothing was found, else the given state.
func (b *book) judge(check string, bad State, found, do string) {
	if found == "" {
		b.write(check, OK, "", "")
		return
	}
	b.write(check, bad, found, do)
}

// note writes down what is so and what more there is to say of it.
func (b *book) note(check, found string) { b.write(check, OK, found, "") }

// unknown writes down that a check could not be made.
func (b *book) unknown(check, found, do string) { b.write(check, Unknown, found, do) }

// write writes a result down. What was found has names that others chose, and what servers said.
func (b *book) write(check string, state State, found, do string) {
	const most = 1000
	b.results = append(b.results, Result{
		Section: b.section,
		Check:   check,
		State:   state,
		Found:   display.Printable(found, most),
		Do:      do,
	})
}

// unread writes down that a check could not be made because something could not be read, if that is
// so.
func unread[T any](b *book, r Read[T], check string) bool {
	if r.Err == nil {
		return false
	}
	b.unknown(check, r.Err.Error(), "")
	b.results[len(b.results)-1].Unread = true
	return true
}
