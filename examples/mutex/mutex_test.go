package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/examples/internal/manifest"
	"github.com/podesta-dev/podesta/examples/internal/trial"
)

// TestMain runs one of the processes if the test has started it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "process" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

var (
	seed   = flag.Uint64("seed", 1, "which faults strike")
	faults = flag.Int("faults", 10, "how many faults strike")
)

// limit is how long a whole test may take, on a machine that is busy.
const limit = 8 * time.Minute

// processes starts five processes that end with the test.
func processes(t *testing.T, unfenced bool) (context.Context, *stage) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts five agents, and takes some seconds a fault")
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

// The process that is inside and the coordinator are killed and paused, in an order that the seed
// says. Everybody gets in again and again, in the order of the tickets, and never two at once.
func TestChaos(t *testing.T) {
	ctx, s := processes(t, false)
	random := rand.New(rand.NewPCG(*seed, 0))
	all := trial.Faults()
	for i := range *faults {
		strike := all[random.IntN(len(all))]
		if i < len(all) {
			strike = all[i] // each at least once
		}
		if err := strike(s.Trial, ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.verdict(); err != nil {
		t.Error(err)
	}
	t.Logf("seed %d, %d faults: %v", *seed, *faults, &s.Checker)
}

// Without the fence the process that was paused inside goes on, and the checker finds it.
func TestTheCheckerFindsTwoAtOnce(t *testing.T) {
	ctx, s := processes(t, true)
	if err := s.PauseUser(ctx); err != nil {
		t.Fatal(err)
	}
	err := s.verdict()
	if err == nil || !strings.Contains(err.Error(), "two at once") {
		t.Errorf("the verdict is %v", err)
	}
}

// TestManifest starts a process with the arguments of the manifest: it gets as far as its context
// lets it.
func TestManifest(t *testing.T) {
	commands, err := manifest.Commands("../manifests/mutex.yaml", "/mutex")
	if err != nil || len(commands) != 1 {
		t.Fatal(commands, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, append(commands[0], "--listen", "127.0.0.1:0")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
