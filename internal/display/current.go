package display

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// NotUpdated means that nobody keeps the status up to date, so that it may describe what is long
// over.
const NotUpdated State = "NotUpdated"

// Current is how current a status is. The status itself does not say that: a manager writes it when
// something has changed, and renews its Lease all the time. The zero Current says nothing.
type Current struct {
	// AsOf is when the status was last known to be kept up to date; nil if that is not known.
	AsOf *time.Time `json:"asOf,omitempty"`
	// Stale is true if nobody keeps it up to date.
	Stale bool `json:"stale,omitempty"`
	// By is who keeps it up to date; empty if nobody does, or if it is not known.
	By string `json:"by,omitempty"`
	// Why says why the age is not known, or why nobody keeps the status up to date.
	Why string `json:"why,omitempty"`
	// Agents is what the agents said when they were asked; nil if they were not.
	Agents *Agents `json:"agents,omitempty"`
}

// Agents is what the agents of a group say themselves.
type Agents struct {
	// Views are whom they follow, the most followed first.
	Views []View `json:"views,omitempty"`
	// Absent says of processes why they have not answered.
	Absent map[string]string `json:"absent,omitempty"`
}

// At returns the time at which a status was current, for ages: they stop when nobody updates it.
func (c Current) At(now time.Time) time.Time {
	if c.Stale && c.AsOf != nil && c.AsOf.Before(now) {
		return *c.AsOf
	}
	return now
}

// Text says as of when a status is.
func (c Current) Text() string {
	at := "not known"
	if c.AsOf != nil {
		at = c.AsOf.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	switch {
	case c.By != "":
		return fmt.Sprintf("%s; %s keeps it up to date", at, c.By)
	case c.Why != "":
		return at + ": " + c.Why
	default:
		return at
	}
}

// Warning says of something that nobody updates it. It has nothing that changes by itself.
func (c Current) Warning(what string) string {
	since := "It is not known since when"
	if c.AsOf != nil {
		since = "It is as of " + c.AsOf.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return fmt.Sprintf("nobody updates %s: %s. %s. Elections go on without it, so that another "+
		"process may coordinate by now.", what, strings.TrimRight(c.Why, ". "), since)
}

// ViewsOf groups processes by whom they say that they follow.
func ViewsOf(follows map[string]string) []View {
	var all []Process
	for process, followed := range follows {
		all = append(all, Process{Name: name(process), Connected: true, Follows: name(followed)})
	}
	sortByName(all)
	views, _ := viewsOf(all)
	return views
}

// Dated returns what is shown of a group whose status is as current as that.
func Dated(g *v1.ElectionGroup, now time.Time, c Current) Group {
	shown := Of(g, c.At(now))
	shown.Current = &c
	if c.Stale {
		shown.LastState, shown.State = shown.State, NotUpdated
	}
	return shown
}

// ExplainDated returns an explanation from a status that is as current as that.
func ExplainDated(g *v1.ElectionGroup, now time.Time, c Current) Explanation {
	e := Explain(g, c.At(now))
	e.Current = &c
	if c.Stale {
		e.LastState, e.State = e.State, NotUpdated
	}
	return e
}
