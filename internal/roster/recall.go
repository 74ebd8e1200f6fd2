package roster

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// Show implements RosterService.
func (s *Server) Show(ctx context.Context, held *rosterpb.Held) (*rosterpb.Shown, error) {
	name, _, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	if !s.publisher.mayShow(name) {
		return nil, status.Error(codes.FailedPrecondition,
			"the manager has not asked this agent for its roster")
	}
	r, err := Open(s.Keyring, held.GetRoster())
	if err != nil {
		s.Logger.Warn("an agent shows a roster that cannot be adopted", "namespace", name.Namespace,
			"group", name.Group, "pod", name.Pod, "error", err)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if r.Namespace != name.Namespace || r.Group != name.Group {
		return nil, status.Errorf(codes.InvalidArgument, "this is the roster of group %s/%s, and "+
			"the agent belongs to %s/%s", r.Namespace, r.Group, name.Namespace, name.Group)
	}
	if s.publisher.shown(r) {
		s.Sightings.change(name, func() bool { return true })
	}
	return &rosterpb.Shown{}, nil
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
func (p *publisher) mayShow(name identity.Name) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.groups[groupKey{name.Namespace, name.Group}]
	if n == nil || !n.recall || n.subscriptions[name.UID] == nil {
		return false
	}
	return n.subscriptions[name.UID].mayShow.Swap(false)
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
func (c *Client) show(ctx context.Context, manager rosterpb.RosterServiceClient,
	asked <-chan struct{}) {
	for {
		select {
		case <-asked:
		case <-ctx.Done():
			return
		}
		newest := c.newest.Load()
		if newest == nil || len(newest.Signed) == 0 {
			continue
		}
		if err := show(ctx, manager, newest.Signed); err != nil && ctx.Err() == nil {
			c.Logger.Warn("the manager does not take the roster that it has asked for",
				"generation", newest.Generation, "error", err)
		}
	}
}

func show(ctx context.Context, manager rosterpb.RosterServiceClient, signed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := manager.Show(ctx, &rosterpb.Held{Roster: signed})
	return err
}
