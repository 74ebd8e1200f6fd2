package agent_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// lines is a log in memory.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// with returns the lines with all of these parts.
func (l *lines) with(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// unlinked is why a process says that it has no link to another one: in its view and in its last
// report.
func (p *process) unlinked(name string) (view, report string) {
	for _, row := range p.view().Processes {
		if row.Name == name {
			view = row.Unlinked
		}
	}
	for _, row := range p.last().Table {
		if row.Name == name {
			report = row.Unlinked
		}
	}
	return view, report
}

// An agent that cannot make a link says so once, with the cause: in its log, in its table and in its
// report. When the link is there, it says nothing more of it.
func TestALinkThatIsMissing(t *testing.T) {
	for _, r := range []roster.Roster{
		{Algorithm: "Bully", Safety: roster.Classic},
		guarded("Bully", roster.Always),
	} {
		safety := r.Safety
		bubble.Test(t, func(t *testing.T) {
			log := &lines{}
			g := startGroup(t, r, 3, func(g *group) {
				g.log = slog.NewTextHandler(log, nil)
			})
			g.agree("p3")
			if said := log.with("WARN"); len(said) > 0 {
				t.Errorf("in a group without a fault: %q", said)
			}
			g.kill("p3")
			g.agree("p2")
			time.Sleep(20 * time.Second)
			synctest.Wait()
			for _, name := range []string{"p1", "p2"} {
				if said := log.with("WARN", "self="+name, "there is no link", "process=p3", "nobody listens at p3:4041"); len(said) != 1 {
					t.Errorf("%s, %s: it says %q, want one line", safety, name, said)
				}
				view, report := g.agents[name].unlinked("p3")
				if view != "nobody listens at p3:4041" || report != view {
					t.Errorf("%s, %s: view %q, report %q", safety, name, view, report)
				}
				if view, report := g.agents[name].unlinked("p1"); view != "" || report != "" {
					t.Errorf("%s, %s of p1: view %q, report %q", safety, name, view, report)
				}
			}
			g.boot("p3")
			g.agree("p3")
			time.Sleep(time.Second)
			synctest.Wait()
			for _, name := range []string{"p1", "p2"} {
				if view, report := g.agents[name].unlinked("p3"); view != "" || report != "" {
					t.Errorf("%s, %s, when p3 is back: view %q, report %q", safety, name, view, report)
				}
				if said := log.with("self="+name, "the link is there", "process=p3"); len(said) != 1 {
					t.Errorf("%s, %s, when p3 is back: it says %q, want one line", safety, name, said)
				}
			}
		})
	}
}
