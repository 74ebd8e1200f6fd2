package agent

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// alarms are the machine's, and the one that Go's timers set.
func alarms(t *testing.T) map[string]Alarm {
	t.Helper()
	all := map[string]Alarm{
		"the machine's": MachineClocks{}.Alarm(),
		"Go's":          alarmOf(MachineClocks{}.Boot),
	}
	for _, a := range all {
		t.Cleanup(a.Close)
	}
	return all
}

// heard waits until the alarm has gone off, and returns what the clock says then.
func heard(t *testing.T, a Alarm) lease.Instant {
	t.Helper()
	select {
	case <-a.Rings():
	case <-time.After(time.Minute):
		t.Fatal("it does not go off")
	}
	return MachineClocks{}.Boot()
}

func TestAnAlarmGoesOffAtItsInstant(t *testing.T) {
	for name, a := range alarms(t) {
		for range 3 { // each Set counts anew
			at := MachineClocks{}.Boot() + 10*time.Millisecond
			a.Set(at)
			if now := heard(t, a); now < at {
				t.Errorf("%s went off %v too early", name, at-now)
			}
		}
	}
}

// What has passed is due at once, and so is an instant before the machine was started: zero is no
// way to say never.
func TestAnAlarmThatIsDueGoesOffAtOnce(t *testing.T) {
	for _, a := range alarms(t) {
		for _, at := range []lease.Instant{MachineClocks{}.Boot() - time.Hour, 1, 0, -1} {
			a.Set(at)
			heard(t, a)
		}
	}
}

func TestAnEarlierInstantReplacesALaterOne(t *testing.T) {
	for name, a := range alarms(t) {
		a.Set(MachineClocks{}.Boot() + time.Hour)
		at := MachineClocks{}.Boot() + time.Millisecond
		a.Set(at)
		if now := heard(t, a); now < at {
			t.Errorf("%s went off %v too early", name, at-now)
		}
	}
}
