package main

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// A watch that brings nothing looks like one in which nothing happens. So a watcher reads the
// managers' Lease every two seconds, and one of the groups that it shows. If the API server has a
// newer group than the watch has brought by the time of the next checkup, the watch is deaf, and
// begins again.

// checkup checks a watch. One question is on its way at a time.
type checkup struct {
	watcher *watcher
	ctx     context.Context //nolint:containedctx // that of the watch, which ends before it
	cancel  context.CancelFunc
	results chan looked

	busy  bool
	ahead looked // what the API server had when the watch had it not
	asked time.Time
}

// askAgain is how often a watch of one group asks its agents while nobody updates it.
const askAgain = 10 * time.Second

// looked is what one checkup has found.
type looked struct {
	current display.Current
	key     types.NamespacedName
	had     string // the group's version as the watch has brought it
	has     string // the group's version as the API server has it; empty if it was not read
}

func newCheckup(ctx context.Context, w *watcher) *checkup {
	c := &checkup{watcher: w, results: make(chan looked, 1)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// stop ends the question that is on its way, if there is one.
func (c *checkup) stop() {
	c.cancel()
	if c.busy {
		<-c.results
	}
}

// begin asks the API server, unless it has yet to answer the last question.
func (c *checkup) begin(seen map[types.NamespacedName]*v1.ElectionGroup) {
	if c.busy {
		return
	}
	c.busy = true
	question := looked{key: c.ahead.key}
	if _, there := seen[question.key]; !there {
		for question.key = range seen { // any of them: Go's order is random
			break
		}
	}
	g := seen[question.key]
	if g != nil {
		question.had = g.ResourceVersion
	}
	pulse, said := &c.watcher.pulse, c.watcher.current // nobody else uses it while busy
	ask := said.Stale && c.watcher.which.name != "" && g != nil && time.Since(c.asked) >= askAgain
	if ask {
		c.asked = time.Now()
	}
	go func() {
		var err error
		question.current, err = pulse.look(c.ctx)
		if question.current.Stale && err == nil {
			question.current.Agents = said.Agents
			if ask {
				question.current.Agents = c.agents(c.ctx, g)
			}
		}
		if question.had != "" && !question.current.Stale {
			question.has = c.watcher.version(c.ctx, question.key)
		}
		c.results <- question
	}()
}

// end takes an answer, and reports whether the watch is deaf.
func (c *checkup) end(result looked, seen map[types.NamespacedName]*v1.ElectionGroup) (deaf bool) {
	c.busy = false
	c.watcher.current = result.current
	g := seen[result.key]
	lags := result.has != "" && g != nil && g.ResourceVersion == result.had && result.has != result.had
	if lags && c.ahead.key == result.key && c.ahead.had == result.had {
		return true
	}
	if c.ahead = (looked{}); lags {
		c.ahead = result
	}
	return false
}

// agents asks the agents of a group which coordinator they follow. They get less time than a
// command gives them, because the next checkup waits for their answers.
func (c *checkup) agents(ctx context.Context, g *v1.ElectionGroup) *display.Agents {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return askViews(ctx, c.watcher.ask, g, io.Discard)
}

// version returns the version of a group that the API server has; empty if it does not say.
func (w *watcher) version(ctx context.Context, key types.NamespacedName) string {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	group := &v1.ElectionGroup{}
	if err := w.kube.get(ctx, groupsResource, key, group); err != nil {
		return ""
	}
	return group.ResourceVersion
}

// silence is the note that nobody updates what is shown; empty if that is not so.
func (w *watcher) silence() string {
	if !w.current.Stale {
		return ""
	}
	return w.pulse.now().UTC().Format(time.TimeOnly+" UTC") + ": nobody updates this; Ctrl-C ends"
}
