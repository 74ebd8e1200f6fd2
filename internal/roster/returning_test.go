package roster

import (
	"fmt"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// Two thousand agents come back to a manager; later many go and come back.
func TestAgentsComeBackInGreatNumbers(t *testing.T) {
	const grace, never = 30 * time.Second, -1
	start := time.Unix(1e9, 0)
	r := new(returns)
	for _, step := range []struct {
		at             int // seconds
		connected, all int
		since          int // seconds
		what           string
	}{
		{0, 0, 2000, never, "nobody is back yet"},
		{5, 99, 2000, never, "a few are"},
		{10, 100, 2000, 10, "one in twenty is"},
		{39, 199, 2000, 10, "they came within a Grace"},
		{41, 199, 2000, never, "and then too few"},
		{42, 250, 2000, never, "a few more come"},
		{50, 299, 2000, 50, "within a Grace they are many"},
		{60, 1880, 2000, 50, "most are back"},
		{70, 1900, 2000, 50, "all but a few, who are awaited"},
		{89, 1900, 2000, 50, "for a Grace"},
		{90, 1900, 2000, never, "and no longer"},
		{200, 800, 2000, never, "many go"},
		{210, 600, 2000, never, "and more"},
		{220, 700, 2000, 220, "and come back"},
		{300, 900, 2000, never, "nobody knows when these came"},
		{310, 1000, 2000, 310, "these have come now"},
		{311, 1000, 0, 310, "all are gone from the rosters"},
		{350, 1000, 0, never, "for long"},
	} {
		want := time.Time{}
		if step.since != never {
			want = start.Add(time.Duration(step.since) * time.Second)
		}
		now := start.Add(time.Duration(step.at) * time.Second)
		if got := r.since(step.connected, step.all, grace, now); !got.Equal(want) {
			t.Errorf("after %d s, %s: since %v, want %v", step.at, step.what, got, want)
		}
	}
}

// The agents of one namespace go and come back without end: others' statuses do not wait for that.
func TestNobodyIsAwaitedForEver(t *testing.T) {
	const grace = 30 * time.Second
	r, start := new(returns), time.Unix(1e9, 0)
	r.since(400, 2000, grace, start)
	for after := time.Second; after < 2*longestReturn; after += 10 * time.Second {
		r.since(400, 2000, grace, start.Add(after-time.Second)) // they have gone
		since := r.since(600, 2000, grace, start.Add(after))
		if awaited := after < time.Second+longestReturn; awaited != !since.IsZero() {
			t.Fatalf("after %v they are many since %v", after, since)
		}
	}
	calm := start.Add(2*longestReturn + 2*grace)
	r.since(400, 2000, grace, calm)
	if again := calm.Add(time.Second); r.since(600, 2000, grace, again) != again {
		t.Error("those who come after a while are not awaited")
	}
}

// In a small cluster, one that comes back is one of few, and no manager is too busy to let it in.
func TestInASmallClusterFewComeBack(t *testing.T) {
	r, now := new(returns), time.Unix(1e9, 0)
	for connected := range 40 {
		now = now.Add(10 * time.Millisecond)
		if got := r.since(connected, 45, time.Second, now); !got.IsZero() {
			t.Fatalf("%d of 45 are back: they are many since %v", connected, got)
		}
	}
}

// A server counts who is connected, and who may be.
func TestAServerSeesAgentsComeBack(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	key, cert := issue(t, m.authority, a, time.Now())
	first := m.follow(t, key, cert)
	first.report(t, &rosterpb.Report{StateId: "m"})
	m.sees(t, "the first one", connected(a.Pod))
	if since := m.Returning(); !since.IsZero() {
		t.Errorf("one has come back: they are many since %v", since)
	}
	for i := range returnsPerSecond {
		name := a
		name.Pod, name.UID = fmt.Sprint("pod-", i), fmt.Sprint("uid-", i)
		s := newSubscription(name, uint64(i)+10, nowhere{})
		m.publisher.enter(name, s) // so that there may be so many
		if i < returnsPerSecond/2 {
			m.Sightings.opened(name, s)
			m.Sightings.reported(name, s, Report{})
		}
	}
	if m.Returning().IsZero() {
		t.Error("half of a thousand have come back, and they are not many")
	}
}
