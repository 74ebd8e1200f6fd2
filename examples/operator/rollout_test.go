package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// From a Lease to Podesta and back, as docs/guides/operators.md says, on a real API server: each
// release replaces the one before pod by pod, somebody leads after each of these steps, whoever
// leads is killed and followed, and at no time do two replicas act.
func TestRollingFromALeaseToPodestaAndBack(t *testing.T) {
	q, kubeconfig := startAPI(t)
	file := newActs(t)
	replicas, running := startAgents(t), map[string]deployed{}
	// The coordinator, which is the highest, is replaced first, as in a StatefulSet: so without the
	// releases in between it would lead by Podesta while another one leads by the Lease, and the other
	// way round.
	names := []string{"p3", "p2", "p1"}
	steps := []release{byLease, byBoth, byPodesta, byBoth, byLease}
	for i, next := range steps {
		for _, name := range names {
			if i > 0 {
				running[name].end(syscall.SIGTERM)
			}
			said := timesSaid(t, file, isReady)
			running[name] = replicas[name].deploy(t, kubeconfig, next, file)
			awaitSaid(t, file, isReady, said+1)
			<-time.After(minReady)
			if i > 0 {
				q.ask() // old and new ones beside each other, and one of them leads
			}
		}
		first := q.ask()
		running[first.by].end(syscall.SIGKILL)
		began := time.Now()
		second := q.ask()
		t.Logf("%s: %s answers %v after %s was killed", next, second.by, time.Since(began).Round(time.Millisecond), first.by)
		if second.by == first.by {
			t.Errorf("%s answers, and was killed", first.by)
		}
		if next == byPodesta && second.epoch <= first.epoch {
			t.Errorf("epoch %d after %d", second.epoch, first.epoch)
		}
		running[first.by] = replicas[first.by].deploy(t, kubeconfig, next, file)
	}
	for _, name := range names {
		running[name].end(syscall.SIGTERM)
	}
	began := oneActedAtATime(t, file)
	t.Logf("began to act: %v", began)
	for _, release := range steps {
		if began[release] < 2 { // at first, and after the kill
			t.Errorf("%d replicas acted by %s: nothing was tried", began[release], release)
		}
	}
}

// minReady is how long a new replica runs before the next one is replaced: longer than it takes to
// lead if it may.
const minReady = 1500 * time.Millisecond

func timesSaid(t *testing.T, file, text string) int {
	t.Helper()
	said, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(said), text)
}

// awaitSaid waits until the file has a text so many times.
func awaitSaid(t *testing.T, file, text string, n int) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond) // nobody tells
	defer again.Stop()
	for deadline := time.Now().Add(patience); timesSaid(t, file, text) < n; <-again.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not have %q %d times", file, text, n)
		}
	}
}
