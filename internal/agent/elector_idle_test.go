package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// The stream for programs of nais/elector says nothing while nothing changes, not even a comment.
// What changes is the name, or since when.
func TestAnIdleElectorStreamIsSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		api := appAPI{views: NewViews(), ledger: NewLedger(MachineClocks{})}
		ctx, stop := context.WithCancel(t.Context())
		var said []electorJSON
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			api.followElector(ctx, func(event string, data any) error {
				e, ok := data.(electorJSON)
				if event != "" || !ok {
					t.Errorf("event %q with %v", event, data)
				}
				said = append(said, e)
				return nil
			})
		}()
		began := time.Now()
		for _, v := range []View{
			{Electing: true},
			{Coordinator: "p2", Since: began},
			{Coordinator: "p2", Since: began, Electing: true},
			{Coordinator: "p2", Since: began.Add(2 * time.Hour)},
			{},
			{Leaving: true},
		} {
			time.Sleep(time.Hour)
			api.views.publish(v)
		}
		time.Sleep(time.Hour)
		stop()
		<-ended
		want := []electorJSON{
			{"", "2000-01-01T00:00:00Z"},
			{"p2", "2000-01-01T02:00:00Z"},
			{"p2", "2000-01-01T04:00:00Z"},
			{"", "2000-01-01T05:00:00Z"},
		}
		if !slices.Equal(said, want) {
			t.Errorf("it said %v, want %v", said, want)
		}
	})
}

// Wherever the agent runs, the time is in UTC.
func TestTheLastUpdateIsInUTC(t *testing.T) {
	oslo := time.FixedZone("CET", 3600)
	v := View{Coordinator: "p2", Updated: time.Date(2026, 1, 1, 0, 30, 0, 999, oslo)}
	if got := v.elector(v.Coordinator); got != (electorJSON{"p2", "2025-12-31T23:30:00Z"}) {
		t.Errorf("it answers %+v", got)
	}
}
