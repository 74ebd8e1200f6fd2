package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/podesta-dev/podesta/client/agent"
	podesta "github.com/podesta-dev/podesta/client/kubernetes"
	"github.com/podesta-dev/podesta/examples/internal/group"
)

// stubborn is a program of client-go alone whose work ignores its context, and which does not end
// when it has lost.
func stubborn(url, name, file string) {
	_ = podesta.NewLock(&agent.Client{URL: url}).Lead(context.Background(),
		leaderelection.LeaderElectionConfig{Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				//nolint:contextcheck // it ignores its context
				_ = acts{file: file, who: name}.Start(context.Background())
			},
			OnStoppedLeading: func() {},
		}})
	select {}
}

// Three replicas of such a program, beside real agents. Whoever leads is killed, or its agent is
// paused, or killed at the end. Each time the library ends the process that has lost before another
// one leads.
func TestProgramsThatLeadOnAreEnded(t *testing.T) {
	file := newActs(t)
	replicas, running := startAgents(t), map[string]deployed{}
	for name, r := range replicas {
		running[name] = r.deploy(t, "", byClientGo, file)
	}
	awaitSaid(t, file, "p", 1)
	for round := range 8 {
		name := lastToAct(t, file)
		leader := replicas[name]
		switch {
		case round == 7:
			_ = leader.agent.Process.Kill()
		case round%2 == 0:
			running[name].end(syscall.SIGKILL)
			running[name] = leader.deploy(t, "", byClientGo, file)
		default:
			if err := group.Stop(leader.agent.Process); err != nil {
				t.Fatal(err)
			}
		}
		awaitSaid(t, file, "p", round+2)
		_ = leader.agent.Process.Signal(syscall.SIGCONT)
	}
	oneActedAtATime(t, file)
}

// A replica that stands still while its agent works does not acknowledge its session, so another one
// leads. When the replica goes on, the library ends its process.
func TestAProgramThatStandsStillIsReplaced(t *testing.T) {
	file := newActs(t)
	replicas := startAgents(t)
	for _, r := range replicas {
		r.begin(t, "", byClientGo, file)
	}
	awaitSaid(t, file, "p", 1)
	leader := replicas[lastToAct(t, file)]
	if err := group.Stop(leader.operator.Process); err != nil {
		t.Fatal(err)
	}
	awaitSaid(t, file, besideAnother, 1) // the stopped process still has the file's lock
	if err := leader.operator.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-leader.ended; !errors.As(err, &exit) || exit.ExitCode() != agent.ExitCode {
		t.Errorf("it goes on, and ends with %v, not with exit code %d", err, agent.ExitCode)
	}
}

// lastToAct is the replica that began to act last.
func lastToAct(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	return lines[len(lines)-1]
}
