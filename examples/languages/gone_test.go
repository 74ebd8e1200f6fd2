package languages

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/examples/internal/group"
)

// appEnv has this test binary be an app that asks the agent at that URL.
const appEnv = "PODESTA_TEST_APP"

// app leads by agent.Run. As soon as it does it starts a child that inherits its connections to the
// agent, as a fork does, and says which process that is.
func app(url string) {
	dialed := make(chan *os.File, 1)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			file, _ := c.(*net.TCPConn).File()
			select {
			case dialed <- file:
			default:
				_ = file.Close()
			}
		}
		return c, err
	}}
	c := agent.Client{URL: url, HTTP: &http.Client{Transport: transport}}
	_ = c.Run(context.Background(), func(ctx context.Context, _ agent.Epoch) error {
		child := exec.CommandContext(ctx, "sleep", "300")
		child.ExtraFiles = []*os.File{<-dialed} // the session's was the first
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Println(child.Process.Pid)
		<-ctx.Done()
		return ctx.Err()
	})
}

// An app that leads by agent.Run stands still, or dies and leaves its connection to a child, while
// its agent works. Another process leads after about two leases. Before, none did.
func TestAnAppThatIsThereNoMoreIsReplaced(t *testing.T) {
	for name, s := range map[string]syscall.Signal{
		"it stands still":                      syscall.SIGSTOP,
		"it dies, and a child has its session": syscall.SIGKILL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := group.NewOfSessions(t.Context(), t.TempDir(), "p1", "p2")
			if err != nil {
				t.Fatal(err)
			}
			p1, p2 := g.Members[0], g.Members[1]
			for _, m := range g.Members {
				start(t, m.Name+"'s agent", nil, m.AgentCommand().Args...)
			}
			leads(t, p2)(s)
			at := time.Now()
			leads(t, p1)
			t.Logf("another process leads %v after %v", time.Since(at), s)
		})
	}
}

// leads starts an app beside a member's agent, and returns when it leads. The result sends it a
// signal.
func leads(t *testing.T, m *group.Member) (signal func(syscall.Signal)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), appEnv+"="+m.AgentURL())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait()
	})
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatalf("the app of %s does not lead, or has no child: %v", m.Name, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	return func(s syscall.Signal) {
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// forks is a Python program that leaves a child, which it forks while it leads, and says which
// process that is.
const forks = `
import os, sys, time, podesta
with podesta.lead() as lead:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        time.sleep(300)
        os._exit(0)
    print(child, flush=True)
    time.sleep(300)
`

// A Python program that has forked a child dies. The child does not keep its session open.
func TestAForkedChildHoldsNoSession(t *testing.T) {
	p := programs[0]
	p.skipUnlessThere(t)
	closed := make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		permits(t, w, uptime(t)+time.Hour, time.Hour)
		<-r.Context().Done()
		close(closed)
	}))
	t.Cleanup(agent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, p.command[0], "-c", forks)
	c.Env = append(os.Environ(), "ELECTOR_PATH="+strings.TrimPrefix(agent.URL, "http://"))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	_ = c.Process.Kill()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Error("the program has died, and its session is open")
	}
	cancel()
	_ = syscall.Kill(child, syscall.SIGKILL)
	_ = c.Wait() // it was killed
}
