package agent_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

const shortest = 100 * time.Millisecond

// startAdaptive starts five processes whose leases last from 100 ms to a second, and waits until
// the lease of the highest is the shortest.
func startAdaptive(t *testing.T, algorithm string) *group {
	r := guarded(algorithm, roster.Delayed)
	r.Lease, r.LeaseMinimum = time.Second, shortest
	g := startGroup(t, r, 5, func(g *group) { g.roster.Heartbeat, g.roster.Timeout = 100*time.Millisecond, 500*time.Millisecond })
	g.acts("p5")
	<-time.After(2 * time.Second)
	return g
}

// LH10: a coordinator that ends, or is cut off, is replaced about as soon as the shortest lease has
// run out. (SIGKILL, and a cable that is pulled: of the first the kernel tells the others.)
func TestFailoverWithAShortLease(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully", "LeLann", "ChangRoberts", "RingList", "ActiveListRing"} {
		for name, fail := range map[string]func(*group){
			"killed":  func(g *group) { g.vanish("p5") },
			"cut off": func(g *group) { g.cut("p5", true) },
		} {
			t.Run(algorithm+" "+name, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					g := startAdaptive(t, algorithm)
					fail(g)
					took := g.actsAfter("p5") // mostly p4: all miss p5 at one instant here
					t.Logf("%v", took)
					if took > 3*shortest {
						t.Errorf("another process acts after %v", took)
					}
					g.acts("p4")
				})
			})
		}
	}
}

// A new roster is written while the lease goes on: no app finds its permission over, although the
// disks take longer than a lease lasts.
func TestANewRosterOnSlowDisks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startAdaptive(t, "Bully")
		for _, p := range g.agents {
			p.mu.Lock()
			p.syncs = 175 * time.Millisecond
			p.mu.Unlock()
		}
		l := g.agents["p5"].ledger
		before, _ := l.Use()
		g.edit(func(r *roster.Roster) { r.Processes[0].Priority = 0 })
		for begun := time.Now(); time.Since(begun) < 2*time.Second; <-time.After(time.Millisecond) {
			if _, ok := l.Use(); !ok {
				t.Fatalf("%v after the edit p5 may not act", time.Since(begun))
			}
		}
		if after, _ := l.Use(); after.Epoch == before.Epoch {
			t.Errorf("p5 still acts under epoch %v: the new roster was not used", after.Epoch)
		}
	})
}

// LH10: an app that keeps a session and says that it stands still at times has a lease that is long
// enough for that.
func TestAPausedAppNeedsALongerLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startAdaptive(t, "Bully")
		report := func(name, text string, want int) {
			t.Helper()
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/paused", nil)
			r.Header.Set("Podesta-Paused", text)
			a := g.agents[name]
			agent.AppAPI(a.views, a.ledger, agent.NewAccounts(), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s says that it stood still for %q: %d %s", name, text, w.Code, w.Body)
			}
			synctest.Wait()
			<-time.After(100 * time.Millisecond) // until the next renewals
		}
		for _, text := range []string{"", "0", "-5", "600001", "1e3", "99999999999999999999"} {
			report("p5", text, http.StatusBadRequest)
		}
		report("p4", "150", http.StatusNoContent) // it does not lead: nothing follows
		if held := g.agents["p5"].value(t, "podesta_agent_lease_seconds"); held != shortest.Seconds() {
			t.Fatalf("the lease is %v s", held)
		}
		report("p5", "150", http.StatusNoContent)
		if held := g.agents["p5"].value(t, "podesta_agent_lease_seconds"); held != 0.4 {
			t.Errorf("after a gap of 150 ms the lease is %v s, want 0.4", held)
		}
		<-time.After(time.Minute)
		if held := g.agents["p5"].value(t, "podesta_agent_lease_seconds"); held != shortest.Seconds() {
			t.Errorf("a minute later the lease is %v s", held)
		}
	})
}
