package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/examples/internal/manifest"
	"github.com/podesta-dev/podesta/examples/internal/trial"
)

// TestMain runs a process of the ring if the test has started it as one.
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

// ring starts a ring that ends with the test.
func ring(t *testing.T, unfenced bool) (context.Context, *trial.Trial) {
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

// The process that has the token and the coordinator are killed and paused, in an order that the
// seed says. Each lost token is replaced exactly once, no other one is, everybody goes on using the
// device, and never two at once.
func TestChaos(t *testing.T) {
	ctx, s := ring(t, false)
	random := rand.New(rand.NewPCG(*seed, 0))
	all := trial.Faults()
	for i := range *faults {
		strike := all[random.IntN(len(all))]
		if i < len(all) {
			strike = all[i] // each at least once
		}
		if err := strike(s, ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := verdict(s); err != nil {
		t.Error(err)
	}
	t.Logf("seed %d, %d faults: %v; tokens %v", *seed, *faults, &s.Checker, s.Checker.Given())
}

// TestManifest starts a process with the arguments of the manifest: it gets as far as its context
// lets it.
func TestManifest(t *testing.T) {
	commands, err := manifest.Commands("../manifests/tokenring.yaml", "/tokenring")
	if err != nil || len(commands) != 1 {
		t.Fatal(commands, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, append(commands[0], "--listen", "127.0.0.1:0")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
