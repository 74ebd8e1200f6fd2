package main

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// A manager that has just begun to lead makes a group's first roster when all agents have reported
// (MC10). So an agent reports before it has one, and says that it has none.
func TestAnAgentWithoutARosterReports(t *testing.T) {
	p := &pod{Name: identity.Name{Namespace: "shop", Pod: "p-0", UID: "u-0"}}
	p.group.Store(new("scheduler"))
	folder := t.TempDir()
	sightings := roster.NewSightings(time.Now)
	changed := make(chan struct{}, 1)
	sightings.OnChange(func(string, string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	_, address := serveRosters(t, p, sightings, folder)
	a := startAgent(t, address, folder)
	defer func() {
		a.stop()
		if err := <-a.ended; err != nil {
			t.Error(err)
		}
	}()
	for {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("it has not reported")
		}
		all := sightings.Group("shop", "scheduler")
		if len(all) == 0 {
			continue
		}
		r := all[0].Report
		if r.StateID == "" || r.Generation != 0 || r.Coordinator != "" || !r.Electing ||
			r.Rules != lease.Rules || r.Version != version {
			t.Errorf("it reports %+v, want who it is and nothing else", r)
		}
		return
	}
}
