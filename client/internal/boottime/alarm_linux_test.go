package boottime

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// reading returns the clock's reading; without one the test cannot continue.
func reading(t *testing.T) time.Duration {
	t.Helper()
	at, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func alarm(t *testing.T) *Alarm {
	t.Helper()
	a, err := NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func set(t *testing.T, a *Alarm, at time.Duration) {
	t.Helper()
	if err := a.Set(at); err != nil {
		t.Fatal(err)
	}
}

// wait waits until the alarm has gone off; one that never does is closed.
func wait(t *testing.T, a *Alarm) {
	t.Helper()
	late := time.AfterFunc(10*time.Second, func() { a.Close() })
	defer late.Stop()
	if err := a.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestAnAlarmGoesOffAtItsInstant(t *testing.T) {
	a := alarm(t)
	at := reading(t) + 30*time.Millisecond
	set(t, a, at)
	wait(t, a)
	if now := reading(t); now < at {
		t.Errorf("it went off %v too early", at-now)
	}
}

// The instant has passed when the machine wakes up; and an instant before the machine was started
// is no way to say never.
func TestAnAlarmThatIsDueGoesOffAtOnce(t *testing.T) {
	for _, at := range []time.Duration{reading(t) - time.Hour, 1, 0, -1} {
		a := alarm(t)
		set(t, a, at)
		wait(t, a)
	}
}

func TestTheLastInstantCounts(t *testing.T) {
	a := alarm(t)
	set(t, a, reading(t)+time.Hour)
	set(t, a, reading(t)+time.Millisecond)
	wait(t, a)
	later := reading(t) + 40*time.Millisecond
	set(t, a, reading(t)+5*time.Millisecond)
	set(t, a, later)
	wait(t, a)
	if now := reading(t); now < later {
		t.Errorf("it went off %v before the instant that was set last", later-now)
	}
}

func TestClosingAnAlarmEndsTheWait(t *testing.T) {
	a := alarm(t)
	set(t, a, reading(t)+time.Hour)
	waited := make(chan error)
	go func() { waited <- a.Wait() }()
	a.Close()
	if err := <-waited; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if err := a.Set(1); err == nil {
		t.Error("an alarm that is closed was set")
	}
}

// No test can suspend the machine. The kernel says which clock the alarm is on, and what that
// means: 7 is CLOCK_BOOTTIME, whose timers are due on resume; 1 would be CLOCK_MONOTONIC, as Go's
// timers.
func TestAnAlarmCountsSuspension(t *testing.T) {
	a := alarm(t)
	conn, err := a.timer.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info []byte
	conn.Control(func(fd uintptr) { info, err = os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) })
	if err != nil {
		t.Skip(err)
	}
	if !strings.Contains(string(info), "clockid: 7\n") {
		t.Errorf("the alarm is on another clock:\n%s", info)
	}
}
