package roster

import (
	"context"
	"errors"
	"slices"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// A pod that is relabelled from one group to another has a certificate of the first one, which gets
// it into neither. The manager tells its agent that the pod has moved, and the agent joins again.
// No pod is read for that before two rosters suggest it: the certificate's group does not list the
// process, and another group does. So a group that is deleted, or a pod that is not on the roster
// yet, costs the API server nothing.

// MovedError ends Client.Run: the pod belongs to another group than the one that this process has
// joined. A process is of one group as long as it runs, so only a later one can join that group.
type MovedError struct{ Reason string }

func (e *MovedError) Error() string {
	return "this pod was moved to another group, which the agent joins when its container has " +
		"started again: " + e.Reason
}

// movedError returns a *MovedError if that is what the manager answers, and otherwise err.
func movedError(err error) error {
	if codeOf(err) == rosterpb.Refusal_MOVED {
		return &MovedError{err.Error()}
	}
	return err
}

// moved returns nil as long as a process that was told Gone may still be of its certificate's
// group, and otherwise the error that ends its subscription. It is also an error if that cannot be
// decided: the agent comes back, with its backoff, and the question with it.
func (s *Server) moved(ctx context.Context, name identity.Name) error {
	if !s.publisher.elsewhere(name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	done, err := s.renewals.Take(ctx, name.Namespace, "pod "+name.UID)
	if err != nil {
		return err
	}
	defer done()
	err = s.Admission.Readmit(ctx, name)
	if refusal, ok := errors.AsType[*Refusal](err); ok && !refusal.Moved {
		return nil // it has been told Gone
	}
	if err != nil {
		return admissionError(err)
	}
	return nil
}

// place is where a process is to be found.
type place struct {
	listed        []groupKey // the groups whose rosters list it; nearly always one
	subscriptions []*subscription
}

// elsewhere reports whether the newest rosters list a process in another group of its namespace,
// and not in the one that it says.
func (p *publisher) elsewhere(name identity.Name) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := groupKey{name.Namespace, name.Group}
	n, at := p.groups[own], p.places[name.UID]
	if n == nil || !n.known || at == nil || n.roster != nil && n.roster.Has(name.Pod, name.UID) {
		return false
	}
	return slices.ContainsFunc(at.listed, func(k groupKey) bool {
		return k.namespace == own.namespace && k != own
	})
}

// list notes whom the next roster of a group lists, instead of the last one; nil: nobody. It wakes
// the subscriptions that these processes have with certificates of other groups.
func (p *publisher) list(key groupKey, last, next *Roster) {
	if last != nil {
		for _, m := range last.Processes {
			at := p.place(m.UID)
			at.listed = slices.DeleteFunc(at.listed, func(k groupKey) bool { return k == key })
			p.tidyPlace(m.UID)
		}
	}
	if next == nil {
		return
	}
	for _, m := range next.Processes {
		at := p.place(m.UID)
		at.listed = append(at.listed, key)
		for _, s := range at.subscriptions {
			if s.name.Group != key.group {
				s.to.wakeUp()
			}
		}
	}
}

// agents returns how many agents there may be: all that are on a roster or have a subscription.
// Right after a takeover it is far more than have come back.
func (p *publisher) agents() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.places)
}

func (p *publisher) place(uid string) *place {
	at := p.places[uid]
	if at == nil {
		at = &place{}
		p.places[uid] = at
	}
	return at
}

// tidyPlace drops a place where nothing is left.
func (p *publisher) tidyPlace(uid string) {
	if at := p.places[uid]; at != nil && len(at.listed) == 0 && len(at.subscriptions) == 0 {
		delete(p.places, uid)
	}
}
