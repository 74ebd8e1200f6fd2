package lateness

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// The watchers of the test are this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "watch" {
		if err := Main(os.Args[2:]); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// A watcher that is stopped comes back late, as if its CPU had stood still.
func TestAStandstillIsNoted(t *testing.T) {
	machine, err := WatchMachine([]string{os.Args[0], "watch"})
	if err != nil {
		t.Skip(err)
	}
	defer machine.End()
	watcher, from := machine.watchers[0].Process, register.Now()
	if err := watcher.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(3 * Least)
	if err := watcher.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		all := machine.Within(from, register.Now())
		if slices.ContainsFunc(all, func(s Late) bool { return s.Length() >= 2*Least }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("noted: %v", all)
		}
		<-time.After(time.Millisecond)
	}
}

func TestALineThatBrokeOffIsNone(t *testing.T) {
	var m Machine
	for _, line := range []string{"10 20", "30", ""} {
		m.add(line)
	}
	if got := m.Within(0, 100); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAWatcherNamesItsCPU(t *testing.T) {
	for _, args := range [][]string{nil, {"1", "2"}, {"one"}} {
		if err := Main(args); err == nil {
			t.Errorf("%q watches", args)
		}
	}
}
