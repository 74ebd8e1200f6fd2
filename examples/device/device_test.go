package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/examples/internal/manifest"
)

// TestMain runs one of the processes if the test has started it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "process" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// limit is how long a whole test may take, on a machine that is busy.
const limit = 8 * time.Minute

// processes starts three processes that end with the test.
func processes(t *testing.T, unfenced bool) (context.Context, stage) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts three agents, and takes some seconds a fault")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	s, err := begin(ctx, t.Output(), unfenced, "5ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.Group.Logs(t.Output())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, s
}

// The coordinator is killed, and paused with an act on its way, by turns. Each time another one uses the device, and never two at once.
func TestChaos(t *testing.T) {
	ctx, s := processes(t, false)
	all := slices.Repeat(faults(), 3)
	for _, strike := range all {
		if err := strike(s, ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Checker.Verdict(); err != nil {
		t.Error(err)
	}
	if turns := s.Checker.Given(); len(turns) <= len(all) {
		t.Errorf("after %d faults the device was used in these turns: %v", len(all), turns)
	}
	t.Logf("%d faults: %v", len(all), &s.Checker)
}

// Without the fence the act that was on its way arrives too late, and the checker finds it.
func TestTheCheckerFindsTwoAtOnce(t *testing.T) {
	ctx, s := processes(t, true)
	if err := s.pause(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Checker.Verdict(); err == nil || !strings.Contains(err.Error(), "two at once") {
		t.Errorf("the verdict is %v", err)
	}
}

// TestManifests starts the programs with the arguments of the manifests, those of the other
// examples, too: they get as far as their context lets them.
func TestManifests(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for file, want := range map[string]int{"device": 2, "tokenring": 1} {
		commands, err := manifest.Commands("../manifests/"+file+".yaml", "/device")
		if err != nil || len(commands) != want {
			t.Fatal(commands, err)
		}
		for _, c := range commands {
			if c[0] == "serve" {
				c = append(c, "--dir", t.TempDir(), "--listen", "127.0.0.1:0")
			}
			if err := run(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v: %v", file, c, err)
			}
		}
	}
}
