package roster

import (
	"context"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// A manager that finds an older roster in a group's status than agents report (MC10) has them show
// theirs. It believes none of them: a roster counts as a manager signed it.

// Recall asks the agents of a group, once in each subscription, for the roster that they use, until
// something is published about the group.
func (s *Server) Recall(namespace, group string) {
	s.publisher.recallFrom(groupKey{namespace, group})
}

// Held returns the newest roster that an agent of the group has shown since Recall; false: none.
func (s *Server) Held(namespace, group string) (Roster, bool) {
	return s.publisher.heldBy(groupKey{namespace, group})
}

// show takes the roster that an agent uses.
func (s *Server) show(by *subscription, held *rosterpb.Held) error {
	name := by.name
	if !s.publisher.mayShow(by) {
		return refuse(rosterpb.Refusal_UNASKED, "the manager has not asked this agent for its roster")
	}
	r, err := Open(s.Keyring, held.GetRoster())
	if err != nil {
		s.Logger.Warn("an agent shows a roster that cannot be adopted", "namespace", name.Namespace,
			"group", name.Group, "pod", name.Pod, "error", err)
		return refuse(rosterpb.Refusal_INVALID, "%v", err)
	}
	if r.Namespace != name.Namespace || r.Group != name.Group {
		return refuse(rosterpb.Refusal_INVALID, "this is the roster of group %s/%s, and "+
			"the agent belongs to %s/%s", r.Namespace, r.Group, name.Namespace, name.Group)
	}
	if s.publisher.shown(r) {
		s.Sightings.change(name, func() bool { return true })
	}
	return nil
}

func (p *publisher) recallFrom(key groupKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.publication(key)
	if !n.recall {
		n.recall = true
		n.recalls++
		n.wake()
	}
}

// recalled is the number of the Recall that agents of the group are to answer; 0: none.
func (p *publisher) recalled(name identity.Name) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.groups[groupKey{name.Namespace, name.Group}]; n != nil && n.recall {
		return n.recalls
	}
	return 0
}

// mayShow reports whether the agent was asked for its roster, and takes note that it answers.
func (p *publisher) mayShow(s *subscription) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.groups[groupKey{s.name.Namespace, s.name.Group}]
	return n != nil && n.recall && n.subscriptions[s.name.UID] == s && s.mayShow.Swap(false)
}

// shown keeps a roster that an agent has shown if it is the newest.
func (p *publisher) shown(r Roster) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.groups[groupKey{r.Namespace, r.Group}]
	if n == nil || !n.recall || n.held != nil && n.held.Generation >= r.Generation {
		return false
	}
	n.held = &r
	return true
}

func (p *publisher) heldBy(key groupKey) (Roster, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.groups[key]; n != nil && n.held != nil {
		return *n.held, true
	}
	return Roster{}, false
}

// show shows the manager the roster in use whenever it asks for it.
func (f *follower) show(ctx context.Context) {
	for {
		select {
		case <-f.asked:
		case <-ctx.Done():
			return
		}
		newest := f.client.newest.Load()
		if newest == nil || len(newest.Signed) == 0 {
			continue
		}
		if err := f.showOne(ctx, newest.Signed); err != nil && ctx.Err() == nil {
			f.client.Logger.Warn("the manager does not take the roster that it has asked for",
				"generation", newest.Generation, "error", err)
		}
	}
}

func (f *follower) showOne(ctx context.Context, signed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	shown, err := ask(ctx, f, &rosterpb.ToManager{
		Message: &rosterpb.ToManager_Held{Held: &rosterpb.Held{Roster: signed}},
	}, f.shown)
	if err != nil {
		return err
	}
	return refusalError(shown.GetRefused())
}
