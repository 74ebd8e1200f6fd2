package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/observer"
	"github.com/podesta-dev/podesta/test/stage"
)

// chronicle is what the agents of a group told their apps, from the pods' own addresses: it asks no
// API server. At the end of the test it says so if an epoch ever went back, or belonged to two
// processes.
type chronicle struct {
	t    *testing.T
	pods map[string]corev1.Pod // as they were when it began

	mu      sync.Mutex
	broken  []string  // what agents said that is no event
	told    []telling // in the order in which it was heard
	changed chan struct{}
}

// telling is one thing that an agent told.
type telling struct {
	at          time.Time
	pod         string
	heard       bool // false: its stream has ended
	coordinator string
	epoch       int64
	electing    bool
	voters      int // of the status
}

func (s telling) String() string {
	if !s.heard {
		return fmt.Sprintf("%s %s is not heard", s.at.Format("05.000"), s.pod)
	}
	if s.pod == published {
		return fmt.Sprintf("%s %s: %q under %d, %d voters", s.at.Format("05.000"), s.pod, s.coordinator, s.epoch, s.voters)
	}
	return fmt.Sprintf("%s %s: %q under %d, electing %v", s.at.Format("05.000"), s.pod, s.coordinator, s.epoch, s.electing)
}

// chronicle begins with the pods that there are now.
func (g *group) chronicle() *chronicle {
	g.t.Helper()
	pods, err := g.Pods(g.t.Context())
	g.must(err)
	c := &chronicle{t: g.t, pods: pods, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var streams sync.WaitGroup
	for name, pod := range pods {
		streams.Go(func() { c.follow(ctx, name, stage.AppAddress(pod)) })
	}
	streams.Go(func() { c.followStatus(ctx, g) })
	g.t.Cleanup(func() {
		cancel()
		streams.Wait()
		c.check()
	})
	return c
}

// follow opens an agent's stream again whenever it ends.
func (c *chronicle) follow(ctx context.Context, pod, address string) {
	for again := time.NewTicker(50 * time.Millisecond); ; {
		c.read(ctx, pod, address)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

func (c *chronicle) read(ctx context.Context, pod, address string) {
	heard := false
	err := observer.Follow(ctx, address, func(e observer.Event) {
		heard = true
		c.tell(telling{pod: pod, heard: true, coordinator: e.Coordinator, epoch: e.Epoch, electing: e.Electing})
	})
	if errors.Is(err, observer.ErrNoEvent) {
		c.breaks(fmt.Sprintf("%s said %v", pod, err))
	}
	if heard && ctx.Err() == nil {
		c.tell(telling{pod: pod})
	}
}

// breaks notes what no agent says; check fails the test for it.
func (c *chronicle) breaks(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, what)
}

// published is the status among those that tell: what a user sees keeps the same rules.
const published = "the status"

// followStatus watches the group itself, while there is somebody to ask.
func (c *chronicle) followStatus(ctx context.Context, g *group) {
	var last telling
	for again := time.NewTicker(500 * time.Millisecond); ; {
		if watch, err := g.Stage.Watch(ctx, &v1.ElectionGroupList{}, client.InNamespace(g.Namespace)); err == nil {
			for event := range watch.ResultChan() {
				eg, ok := event.Object.(*v1.ElectionGroup)
				if !ok {
					continue
				}
				now := telling{pod: published, heard: true, voters: len(votersOf(eg))}
				if coordinator := eg.Status.Coordinator; coordinator != nil {
					now.coordinator, now.epoch = coordinator.Name, coordinator.Epoch
				}
				if now != last {
					last = now
					c.tell(now)
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

func (c *chronicle) tell(what telling) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what.at = time.Now()
	c.told = append(c.told, what)
	close(c.changed)
	c.changed = make(chan struct{})
}

// now is what each agent told last.
func (c *chronicle) now() (views map[string]telling, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	views = map[string]telling{}
	for _, what := range c.told {
		views[what.pod] = what
	}
	return views, c.changed
}

// agree waits until every agent but those given follows want, all of them under one epoch, and
// returns what the last one told.
func (c *chronicle) agree(want string, but ...string) (last telling) {
	c.t.Helper()
	c.await(fmt.Sprintf("%q for all but %v", want, but), func(views map[string]telling) bool {
		last = telling{}
		for pod := range c.pods {
			view := views[pod]
			switch {
			case slices.Contains(but, pod):
				continue
			case !view.heard || view.electing || view.coordinator != want || last.pod != "" && last.epoch != view.epoch:
				return false
			case view.at.After(last.at):
				last = view
			}
		}
		return true
	})
	return last
}

func (c *chronicle) await(what string, accept func(map[string]telling) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		views, changed := c.now()
		if accept(views) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.t.Fatalf("await %s: the agents say %v", what, views)
		}
	}
}

// since is what was told after an instant.
func (c *chronicle) since(then time.Time) []telling {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.told), func(what telling) bool { return !what.at.After(then) })
}

// mayAct asks an agent as its app would.
func (c *chronicle) mayAct(pod string) bool {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+stage.AppAddress(c.pods[pod])+"/v1/permission", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		c.t.Fatalf("%s does not answer its app: %v", pod, err)
	}
	defer response.Body.Close()
	said, err := readPermission(response)
	if err != nil {
		c.t.Fatalf("%s: %v", pod, err)
	}
	return said.MayAct
}

// acts waits until a process may act.
func (c *chronicle) acts(pod string) {
	c.t.Helper()
	over := time.After(patience)
	for again := time.NewTicker(50 * time.Millisecond); !c.mayAct(pod); {
		select {
		case <-again.C:
		case <-over:
			c.t.Fatalf("%s may not act", pod)
		}
	}
}

// kill kills all processes that a pod had when the chronicle began.
func (c *chronicle) kill(pod string) time.Time {
	c.t.Helper()
	p := c.pods[pod]
	processes, err := stage.Processes(&p)
	if err != nil {
		c.t.Fatal(err)
	}
	at := time.Now()
	for name, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			c.t.Fatalf("kill %s of %s, process %d: %v", name, pod, pid, err)
		}
	}
	return at
}
