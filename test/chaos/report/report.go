// Package report is what a chaos run did and what came of it: the JSON file that a run leaves.
package report

import (
	"time"

	"github.com/podesta-dev/podesta/test/register/history"
)

// Run is a whole run.
type Run struct {
	Seed    uint64    `json:"seed"`
	Begun   time.Time `json:"begun"`
	Seconds float64   `json:"seconds"`
	Podesta string    `json:"podesta"` // version
	// version of the agents that every other phase began with, in its groups of seven
	Previous   string `json:"previous,omitempty"`
	Kubernetes string `json:"kubernetes"`        // version of the API server
	Backend    string `json:"backend,omitempty"` // kind or local; kind, if a report does not say
	Nodes      int    `json:"nodes"`             // control plane included
	Cores      int    `json:"cores"`             // of the machine that all nodes run on

	// LeftOut are the faults and checks that the backend is not capable of.
	LeftOut []string `json:"leftOut,omitempty"`
	Rounds  int      `json:"rounds"`
	// Missed is how often a strike hit nothing, since what it was for had just ended by itself. It is
	// not among the strikes.
	Missed int `json:"missed,omitempty"`

	Groups  []Group  `json:"groups"`
	Strikes []Strike `json:"strikes"`
	// Problems are what must not be: violations, and what did not happen in time.
	Problems []string `json:"problems"`
}

// Group is a group, and what became of it.
type Group struct {
	Name      string `json:"name"`
	Algorithm string `json:"algorithm"`
	Safety    string `json:"safety"`
	Processes int    `json:"processes"`
	Witness   bool   `json:"witness,omitempty"` // beside these processes
	// Seconds is how long it was looked at; 0 is not known.
	Seconds float64        `json:"seconds,omitempty"`
	Became  history.Report `json:"became"`
}

// Class is what a fault is counted as.
type Class string

// The classes.
const (
	Kill  Class = "kill"  // of a container, an agent, an app, a pod, a node: without notice
	Cut   Class = "cut"   // of links, one-way or both ways
	Pause Class = "pause" // of a process, a pod or a node, and then it goes on
	// a pod or node is asked to go: deletion, drain, scaling, a rolling restart
	Leave   Class = "leave"
	Edit    Class = "edit"    // of the group
	Outage  Class = "outage"  // of what is around the pods: API server, etcd, manager
	Starve  Class = "starve"  // of CPU
	Renewal Class = "renewal" // of the certificate authority
)

// Strike is one fault and what it did to one group.
type Strike struct {
	Second float64 `json:"second"` // since the run began
	Round  int     `json:"round"`
	Group  string  `json:"group"`
	Class  Class   `json:"class"`
	// what was done, without the victim: "kill agent", "cut: isolated", "pause node"
	Fault  string `json:"fault"`
	Victim string `json:"victim,omitempty"` // pod or node
	// Coordinator: the coordinator was hit.
	Coordinator bool `json:"coordinator"`
	// Milliseconds is how long the fault lasted; 0 if it is done at once.
	Milliseconds float64 `json:"milliseconds,omitempty"`

	// Overlapping: another fault of the round hit the group, too, so the times are of both.
	Overlapping bool `json:"overlapping,omitempty"`

	Before Holder `json:"before"` // who acted
	// who was permitted to act first after the strike; after a coordinator that was asked to go, who
	// came next
	First Holder `json:"first"`

	// Times are counted from the strike until First; nil is not measured, as when nothing changed.
	Times Times `json:"times"`

	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

// Holder is who acted.
type Holder struct {
	Process string `json:"process,omitempty"`
	Epoch   int64  `json:"epoch,omitempty"` // 0 in Classic groups
}

// Times are how long it took, in milliseconds, until …
type Times struct {
	// … the write of an app was taken that was permitted to act after the strike: in a Guarded
	// group, by a majority.
	Acts *float64 `json:"acts,omitempty"`
	// … the group's status named it, or whoever came after it. Only if First is not Before.
	Status *float64 `json:"status,omitempty"`
	// … the coordinator Service led to it, or whoever came after it, and to nobody else. Only if
	// it is another pod.
	Service *float64 `json:"service,omitempty"`
}

// Changed reports whether the strike brought another coordinator or epoch.
func (s Strike) Changed() bool { return s.Before != s.First }
