package agent

import (
	"maps"
	"slices"

	"github.com/podesta-dev/podesta/internal/transport"
)

// isUnlinked says in the log, the table and the report why there is no link to a process.
func (a *agent) isUnlinked(e transport.Unlinked) {
	if !slices.Contains(a.links, e.Name) {
		return // the event came before the node stopped wanting the link
	}
	a.Logger.Warn("there is no link to a process: this process cannot send to it",
		"process", e.Name, "why", e.Cause)
	if a.unlinked == nil {
		a.unlinked = map[string]string{}
	}
	a.unlinked[e.Name] = e.Cause
	a.publish()
}

// isLinked forgets why there was no link to a process.
func (a *agent) isLinked(name string) {
	if _, was := a.unlinked[name]; was {
		a.Logger.Info("the link is there", "process", name)
		delete(a.unlinked, name)
		a.publish()
	}
}

// keepUnlinked forgets the same of all links that the node does not want any more.
func (a *agent) keepUnlinked() {
	maps.DeleteFunc(a.unlinked, func(name, _ string) bool { return !slices.Contains(a.links, name) })
}
