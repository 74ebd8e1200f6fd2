package roster

import (
	"slices"
	"sync"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// A certificate lasts a day, also if its pod is deleted a moment later, and whoever may create pods
// may get one after the other. So what the manager keeps of a tenant depends on the pods that the
// tenant has, not on its certificates:
//
//   - A stray is a connection of a pod that the manager does not see, and that is not on the roster
//     of its group either. (A voter whose pod was deleted may still run, and is served.)
//   - The manager tells a stray that it is gone, and then closes its connection. The stray may come
//     again: the manager serves it when it sees the pod.
//   - The manager does not tell that to strays that have not reported, or that may use a newer
//     roster than it knows. The newest straysOfNamespace of them stay, for each namespace.
//   - Strays do not count among the agents whose return is awaited.

// straysOfNamespace is how many pods of a namespace may be connected before the manager sees them:
// it admits pods that its watch has not shown yet.
const straysOfNamespace = 100

// strays are those that are connected.
type strays struct {
	mu sync.Mutex
	of map[string][]*accepted // by namespace, the oldest first
}

// enter takes in a connection, and returns the one that has to go for it; nil: none.
func (s *strays) enter(c *accepted) (oldest *accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.of[c.name.Namespace]
	if c.over.Load() || slices.Contains(all, c) {
		return nil
	}
	if len(all) == straysOfNamespace {
		oldest, all = all[0], all[1:]
		oldest.over.Store(true)
	}
	s.of[c.name.Namespace] = append(slices.Clone(all), c)
	return oldest
}

func (s *strays) leave(c *accepted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace := c.name.Namespace
	s.of[namespace] = slices.DeleteFunc(s.of[namespace], func(o *accepted) bool { return o == c })
	if len(s.of[namespace]) == 0 {
		delete(s.of, namespace)
	}
}

// errStray ends the connection of a stray.
var errStray = refuse(rosterpb.Refusal_UNAVAILABLE, "the manager sees no such pod that has the "+
	"label of a group: it serves the agent when it does")

// isThere looks whether the manager sees the pod of a connection, or its roster lists it.
func (c *accepted) isThere() bool {
	there := c.server.publisher.lists(c.name) || c.server.Admission.Present(c.name)
	if there {
		c.server.strays.leave(c)
	} else if oldest := c.server.strays.enter(c); oldest != nil {
		oldest.endSoon(errStray)
	}
	return there
}

// PodGone tells the server that the manager does not see a pod any more.
func (s *Server) PodGone(uid string) { s.publisher.wakePod(uid) }

func (p *publisher) wakePod(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.places[uid]; at != nil {
		for _, s := range at.subscriptions {
			s.to.wakeUp()
		}
	}
}

// lists reports whether the newest roster of its group lists a process.
func (p *publisher) lists(name identity.Name) bool {
	_, r, _ := p.read(name)
	return r != nil && r.Has(name.Pod, name.UID)
}

// count has a subscription count among the agents that there may be, or not any more.
func (p *publisher) count(s *subscription, counts bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.place(s.name.UID)
	at.subscriptions = slices.DeleteFunc(at.subscriptions, func(o *subscription) bool {
		return o == s
	})
	n := p.groups[groupKey{s.name.Namespace, s.name.Group}]
	if counts && n != nil && n.subscriptions[s.name.UID] == s {
		at.subscriptions = append(at.subscriptions, s)
	}
	p.tidyPlace(s.name.UID)
}
