package roster

import (
	"testing"
	"time"
)

// News is ripe once the oldest of it has waited long enough, however much comes after it.
func TestNewsRipens(t *testing.T) {
	now := time.Now()
	s := NewSightings(func() time.Time { return now })
	ripe := func(want time.Duration) {
		t.Helper()
		if got := s.Ripe("shop", "scheduler", 100*time.Millisecond); got != want {
			t.Errorf("wait for %v, want %v", got, want)
		}
	}
	ripe(0) // there is none
	session := newSession(a, 1, now)
	s.opened(a, session)
	ripe(100 * time.Millisecond)
	now = now.Add(70 * time.Millisecond)
	s.reported(a, session, Report{})
	ripe(30 * time.Millisecond)
	now = now.Add(30 * time.Millisecond)
	ripe(0)
	ripe(0) // taken
	s.closed(a, session)
	ripe(100 * time.Millisecond)
}

func TestForgetDropsOnlyWhatHasNoSession(t *testing.T) {
	s := NewSightings(time.Now)
	open, shut := newSession(a, 1, time.Now()), newSession(b, 2, time.Now())
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
		t.Errorf("kept %+v, want the one with a session", all)
	}
	s.closed(a, open)
	s.Forget("shop", "scheduler", func(string) bool { return false })
	if len(s.groups) != 0 {
		t.Errorf("an empty group is kept: %v", s.groups)
	}
}

// Sessions may begin in another order on the board and among the sightings: the one with the higher number speaks.
func TestOlderSessionThatComesLateDoesNotSpeak(t *testing.T) {
	s := NewSightings(time.Now)
	older, newer := newSession(a, 1, time.Now()), newSession(a, 2, time.Now())
	s.opened(a, newer)
	s.opened(a, older)
	s.reported(a, newer, Report{Coordinator: "newer"})
	s.reported(a, older, Report{Coordinator: "older"})
	s.closed(a, older)
	if all := s.Group("shop", "scheduler"); len(all) != 1 || !all[0].Connected || all[0].Report.Coordinator != "newer" {
		t.Errorf("got %+v", all)
	}
}
