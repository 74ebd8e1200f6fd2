package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// chronicle is what the agents of a group told their apps, from the pods' own addresses: it asks no API server. At the end of the
// test it says so if an epoch ever went back, or belonged to two processes.
type chronicle struct {
	t    *testing.T
	pods map[string]corev1.Pod // as they were when it began

	mu      sync.Mutex
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
}

func (s telling) String() string {
	if !s.heard {
		return fmt.Sprintf("%s %s is not heard", s.at.Format("05.000"), s.pod)
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/events", nil)
	if err != nil {
		return
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var said struct {
			Name     string
			Epoch    int64
			Electing bool
		}
		if ok && json.Unmarshal([]byte(data), &said) == nil {
			c.tell(telling{pod: pod, heard: true, coordinator: said.Name, epoch: said.Epoch, electing: said.Electing})
		}
	}
	if ctx.Err() == nil {
		c.tell(telling{pod: pod})
	}
}

// published is the status among those that tell: what a user sees keeps the same rules.
const published = "the status"

// followStatus watches the group itself, while there is somebody to ask.
func (c *chronicle) followStatus(ctx context.Context, g *group) {
	last := ""
	for again := time.NewTicker(500 * time.Millisecond); ; {
		if watch, err := g.Stage.Watch(ctx, &v1.ElectionGroupList{}, client.InNamespace(g.Namespace)); err == nil {
			for event := range watch.ResultChan() {
				eg, ok := event.Object.(*v1.ElectionGroup)
				if !ok || eg.Status.Coordinator == nil {
					continue
				}
				if coordinator := eg.Status.Coordinator; fmt.Sprint(coordinator.Name, coordinator.Epoch) != last {
					last = fmt.Sprint(coordinator.Name, coordinator.Epoch)
					c.tell(telling{pod: published, heard: true, coordinator: coordinator.Name, epoch: coordinator.Epoch})
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

// agree waits until every agent but those given follows want, all of them under one epoch, and returns what the last one told.
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

// coordinators are those of the status, one after another.
func (c *chronicle) coordinators() (names []string) {
	for _, what := range c.since(time.Time{}) {
		if what.pod == published {
			names = append(names, what.coordinator)
		}
	}
	return slices.Compact(names)
}

// mayAct asks an agent as its app would.
func (c *chronicle) mayAct(pod string) bool {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+stage.AppAddress(c.pods[pod])+"/v1/leader", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		c.t.Fatalf("%s does not answer its app: %v", pod, err)
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// acts waits until a process may act, stops until it may not.
func (c *chronicle) acts(pod string)  { c.t.Helper(); c.waitFor(pod, true) }
func (c *chronicle) stops(pod string) { c.t.Helper(); c.waitFor(pod, false) }

func (c *chronicle) waitFor(pod string, mayAct bool) {
	c.t.Helper()
	over := time.After(patience)
	for again := time.NewTicker(50 * time.Millisecond); c.mayAct(pod) != mayAct; {
		select {
		case <-again.C:
		case <-over:
			c.t.Fatalf("%s may act: %t", pod, !mayAct)
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

// check: epochs grow, for each agent and as a whole life of its group, and none belongs to two.
func (c *chronicle) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	highest, owners := map[string]int64{}, map[int64]string{}
	for _, what := range c.told {
		if what.epoch == 0 {
			continue
		}
		if what.epoch < highest[what.pod] {
			c.t.Errorf("an epoch went back to %d from %d: %v", what.epoch, highest[what.pod], what)
		}
		highest[what.pod] = what.epoch
		if owner := owners[what.epoch]; owner != "" && owner != what.coordinator {
			c.t.Errorf("epoch %d belongs to %s and to %s", what.epoch, owner, what.coordinator)
		}
		owners[what.epoch] = what.coordinator
	}
	if c.t.Failed() {
		c.t.Logf("what the agents told:\n%v", c.told)
	}
}
