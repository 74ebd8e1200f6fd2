package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// The address that injection puts into the environment is the agent's. A URL in the program comes
// before it.
func TestElectorPath(t *testing.T) {
	for path, want := range map[string]string{
		"":                      DefaultURL,
		"127.0.0.2:4041":        "http://127.0.0.2:4041",
		"http://127.0.0.2:4041": "http://127.0.0.2:4041",
	} {
		t.Setenv(PathVariable, path)
		if got := new(Client).BaseURL(); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
		if got := (&Client{URL: "http://127.0.0.3:1"}).BaseURL(); got != "http://127.0.0.3:1" {
			t.Errorf("%q: %s comes before the program's URL", path, got)
		}
	}
}

func TestRunReadsElectorPath(t *testing.T) {
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	a.Grant(7, long)
	t.Setenv(PathVariable, strings.TrimPrefix(a.URL, "http://"))
	done := errors.New("done")
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	err := Run(ctx, func(_ context.Context, epoch Epoch) error {
		if epoch != 7 {
			t.Errorf("epoch %v", epoch)
		}
		return done
	})
	if !errors.Is(err, done) {
		t.Error(err)
	}
}

// lines counts the lines of a log, and shows the first one at once.
type lines struct {
	mu    sync.Mutex
	all   []string
	first chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all = append(l.all, string(p)); len(l.all) == 1 {
		close(l.first)
	}
	return len(p), nil
}

// A program without a Report says once that there is no agent, however often it tries.
func TestNoAgentIsSaidOnce(t *testing.T) {
	absent.Clear() // what an earlier run of this test has said
	said := &lines{first: make(chan struct{})}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(said, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	t.Setenv(PathVariable, "127.0.0.1:1") // where nobody listens
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		result <- Run(ctx, func(context.Context, Epoch) error { return nil })
	}()
	select {
	case <-said.first:
	case <-time.After(testPatience):
		t.Fatal("it says nothing")
	}
	_, refused := Coordinator(ctx)
	if refused == nil {
		t.Fatal("an agent has answered")
	}
	for _, err := range []error{refused, errors.New("the session has ended")} {
		new(Client).report(ctx, err)
	}
	cancel()
	<-result
	said.mu.Lock()
	defer said.mu.Unlock()
	if len(said.all) != 1 || !strings.Contains(said.all[0], "http://127.0.0.1:1") {
		t.Errorf("it says %q", said.all)
	}
}
