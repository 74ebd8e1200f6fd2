package languages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A program whose permission is revoked long before its deadline stops its work, and closes the
// session, so that the agent need not wait for that deadline. It opens another one, to be a
// candidate again.
func TestRevoked(t *testing.T) {
	for _, p := range programs {
		t.Run(p.language, func(t *testing.T) {
			p.skipUnlessThere(t)
			t.Parallel()
			resource := newResource(t)
			agent := &revoking{
				t:      t,
				revoke: make(chan struct{}),
				closed: make(chan time.Time, 1),
				again:  make(chan struct{}),
			}
			server := httptest.NewServer(agent)
			t.Cleanup(server.Close)
			p.begin(t, resource.url, server.URL)
			resource.awaitActs(t, 1)
			close(agent.revoke)
			closed := receive(t, agent.closed, "that it closes its session")
			receive(t, agent.again, "that it opens another one")
			for _, a := range resource.later(closed) {
				t.Errorf("it closed its session at %v, and did this: %v", closed, a)
			}
		})
	}
}

func receive[T any](t *testing.T, from <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("%s is waited for", what)
	}
	return value
}

// begin starts the program, which ends with the test.
func (p program) begin(t *testing.T, resource, agent string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // and what it has started
	c.Env = append(os.Environ(), "HOSTNAME=p1", "RESOURCE="+resource,
		"ELECTOR_PATH="+strings.TrimPrefix(agent, "http://"))
	c.Stdout, c.Stderr = t.Output(), t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := c.Wait(); t.Failed() { // or it was killed just now
			t.Logf("the program ended with %v", err)
		}
	})
}

// revoking is an agent that permits its app to act for an hour, and revokes that when it is
// told to. It permits it to the first session, and nothing to those that follow.
type revoking struct {
	t        *testing.T
	revoke   chan struct{}
	closed   chan time.Time // gets when the first session was closed
	again    chan struct{}  // closed when there is a second one
	sessions atomic.Int32
}

func (a *revoking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch a.sessions.Add(1) {
	case 1:
		permits(a.t, w, uptime(a.t)+time.Hour, time.Hour)
		select {
		case <-a.revoke:
		case <-r.Context().Done():
			a.t.Error("it closed its session while it was permitted to act")
		}
		permitsNothing(w)
		<-r.Context().Done()
		a.closed <- time.Now()
	case 2:
		close(a.again)
		fallthrough
	default:
		permitsNothing(w)
		<-r.Context().Done()
	}
}
