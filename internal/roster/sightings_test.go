package roster

import (
	"testing"
	"time"
)

func TestForgetDropsOnlyWhatHasNoSubscription(t *testing.T) {
	s := NewSightings(time.Now)
	open, shut := newSubscription(a, 1, nowhere{}), newSubscription(b, 2, nowhere{})
	s.opened(a, open)
	s.reported(a, open, Report{})
	s.opened(b, shut)
	s.reported(b, shut, Report{})
	s.closed(b, shut)
	s.Forget("shop", "scheduler", func(uid string) bool { return uid == b.UID })
	if n := len(s.Group("shop", "scheduler")); n != 2 || s.Connected() != 1 {
		t.Errorf("%d sightings, %d connected; want both kept, one connected", n, s.Connected())
	}
	s.Forget("shop", "scheduler", func(string) bool { return false })
	if all := s.Group("shop", "scheduler"); len(all) != 1 || all[0].Name != a.Pod {
		t.Errorf("kept %+v, want the one with a subscription", all)
	}
	s.closed(a, open)
	s.Forget("shop", "scheduler", func(string) bool { return false })
	if len(s.groups) != 0 || s.Connected() != 0 {
		t.Errorf("an empty group is kept: %v, %d connected", s.groups, s.Connected())
	}
}

// Subscriptions may begin in different orders at the publisher and among the sightings: the one
// with the higher number counts.
func TestOlderSubscriptionThatComesLateDoesNotSpeak(t *testing.T) {
	s := NewSightings(time.Now)
	older, newer := newSubscription(a, 1, nowhere{}), newSubscription(a, 2, nowhere{})
	s.opened(a, newer)
	s.opened(a, older)
	s.reported(a, newer, Report{Coordinator: "newer"})
	s.reported(a, older, Report{Coordinator: "older"})
	s.closed(a, older)
	if all := s.Group("shop", "scheduler"); len(all) != 1 || !all[0].Connected ||
		all[0].Report.Coordinator != "newer" {
		t.Errorf("got %+v", all)
	}
}

// MC3: a process that reports all the time is connected since its first report, or it would never
// become a voter; one that is back is connected since then.
func TestSinceWhenAnAgentIsConnected(t *testing.T) {
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	now := noon
	s := NewSightings(func() time.Time { return now })
	first, second := newSubscription(a, 1, nowhere{}), newSubscription(a, 2, nowhere{})
	for _, step := range []struct {
		do        func()
		connected bool
		since     time.Time
	}{
		{func() { s.opened(a, first); s.reported(a, first, Report{}) }, true, noon},
		{func() { s.reported(a, first, Report{Generation: 1}) }, true, noon},
		{func() { s.closed(a, first) }, false, noon.Add(2 * time.Second)},
		{func() { s.opened(a, second) }, false, noon.Add(2 * time.Second)},
		{func() { s.reported(a, second, Report{}) }, true, noon.Add(4 * time.Second)},
	} {
		step.do()
		all := s.Group("shop", "scheduler")
		if len(all) != 1 || all[0].Connected != step.connected || !all[0].Since.Equal(step.since) {
			t.Errorf("after %v: %+v", now.Sub(noon), all)
		}
		now = now.Add(time.Second)
	}
}

// Agents agree when all that are connected follow one process under one epoch.
func TestWhenAgentsAgree(t *testing.T) {
	first, second := newSubscription(a, 1, nowhere{}), newSubscription(b, 2, nowhere{})
	follows := func(coordinator string, epoch int64) Report {
		return Report{Coordinator: coordinator, Epoch: epoch}
	}
	for _, c := range []struct {
		name     string
		of       [2]Report
		silent   bool // the second has no subscription any more
		agreed   string
		epoch    int64
		agreeing int
	}{
		{"the same", [2]Report{follows("p", 7), follows("p", 7)}, false, "p", 7, 2},
		{"one has not heard of the epoch", [2]Report{follows("p", 7), follows("p", 6)}, false, "", 0, 0},
		{"one is bound by none", [2]Report{follows("p", 0), follows("p", 7)}, false, "p", 7, 2},
		{"another coordinator", [2]Report{follows("p", 7), follows("q", 7)}, false, "", 0, 0},
		{"one follows nobody", [2]Report{follows("p", 7), {}}, false, "", 0, 0},
		{"one elects", [2]Report{follows("p", 7), {Coordinator: "p", Epoch: 7, Electing: true}}, false, "", 0, 0},
		{"one is gone", [2]Report{follows("p", 7), follows("q", 6)}, true, "p", 7, 1},
		{"the one before stands still", [2]Report{follows("p", 7), follows(b.Pod, 6)}, false, "p", 7, 1},
		{"the one before elects", [2]Report{follows("p", 7), {Coordinator: b.Pod, Epoch: 6, Electing: true}},
			false, "", 0, 0},
		{"it has not heard of its own epoch yet", [2]Report{follows(b.Pod, 7), follows(b.Pod, 6)}, false, "", 0, 0},
		{"two lead a Classic group", [2]Report{follows("p", 0), follows(b.Pod, 0)}, false, "", 0, 0},
	} {
		s := NewSightings(time.Now)
		if name, _, n := s.Agreed("shop", "scheduler"); name != "" || n != 0 {
			t.Fatalf("nobody agrees on %q, %d agents", name, n)
		}
		s.opened(a, first)
		s.opened(b, second)
		s.reported(a, first, c.of[0])
		s.reported(b, second, c.of[1])
		if c.silent {
			s.closed(b, second)
		}
		name, epoch, n := s.Agreed("shop", "scheduler")
		if name != c.agreed || epoch != c.epoch || n != c.agreeing {
			t.Errorf("%s: %d agents agree on %q, epoch %d", c.name, n, name, epoch)
		}
	}
}
