package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/test/flood"
	"github.com/podesta-dev/podesta/test/observer"
)

// asAgent in the environment makes this program an agent.
const asAgent = "PODESTA_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if flood.Attacker() {
		return
	}
	if os.Getenv(asAgent) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// The agent is small because it links neither Kubernetes' libraries nor gRPC's.
func TestWhatIsNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		for _, large := range []string{"k8s.io/", "sigs.k8s.io/", "google.golang.org/grpc"} {
			if strings.HasPrefix(path, large) {
				t.Errorf("the agent links %s", path)
			}
		}
	}
}

func TestBadFlagsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--manager HOST:PORT in a cluster, or --roster FILE outside one"},
		{[]string{"--manager", "a:1", "--roster", "b"}, "are both set"},
		{[]string{"--roster", "b"}, "`agent keys --roster FILE --out DIR` creates them"},
		{[]string{"--manager", "a:1", "--key", "k"}, "require --roster"},
		{[]string{"--manager", "nowhere"}, `--manager "nowhere": must be host:port`},
		{
			[]string{"--manager", "a:1", "--app-address", "4040"},
			`--app-address "4040": must be host:port`,
		},
		{[]string{"--manager", "a:1", "--log-level", "loud"}, "must be debug, info, warn or error"},
		{[]string{"--manager", "a:1", "elect"}, `unexpected argument "elect"`},
		{
			[]string{"--roster", "/nonexistent", "--certificate", "/c", "--key", "/k"},
			"no such file",
		},
		{[]string{"keys"}, "usage: agent keys --roster FILE --out DIR"},
		{[]string{"init"}, "usage: agent init --state-dir DIR [--roster FILE]"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("agent %s: got %v, want %q", strings.Join(c.args, " "), err, c.want)
		}
	}
}

// patience bounds what a test waits for: if an agent fails, its log says why.
const patience = 2 * time.Minute

// follow returns whom an agent tells its app to follow, one after the other, from when it listens
// until its stream ends.
func follow(t *testing.T, address string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	names := make(chan string)
	var following sync.WaitGroup
	following.Go(func() {
		defer close(names)
		for begun := false; !begun && ctx.Err() == nil; {
			_ = observer.Follow(ctx, address, func(e observer.Event) {
				begun = true
				select {
				case names <- e.Coordinator:
				case <-ctx.Done():
				}
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
	return names
}

// logger writes what agents log into what the test prints if it fails.
func logger(t *testing.T) *slog.Logger {
	l := &testLog{to: t.Output()}
	t.Cleanup(l.end)
	return slog.New(slog.NewTextHandler(l, nil))
}

// testLog is what a test prints until it ends: an agent may outlive a test that fails.
type testLog struct {
	mu sync.Mutex
	to io.Writer
}

func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = io.Discard
}

// serves runs an agent. That it ends by itself fails the test.
func serves(t *testing.T, ctx context.Context, o options) error { //nolint:revive // it is the test's
	err := serve(ctx, o, logger(t))
	if ctx.Err() == nil {
		t.Errorf("an agent has ended: %v", err)
	}
	return err
}

func awaitName(t *testing.T, names <-chan string, want string) {
	t.Helper()
	for name := range names {
		if name == want {
			return
		}
	}
	t.Fatalf("the stream ended, or %v have passed, before it named %s", patience, want)
}
