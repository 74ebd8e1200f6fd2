package roster

import (
	"sync/atomic"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// subscription is one Follow of one agent.
type subscription struct {
	name identity.Name
	// counts the subscriptions of this server; the newest subscription of a pod counts
	number  uint64
	to      agentEnd
	mayShow atomic.Bool // the agent was asked for its roster, and has not shown one yet
	uses    atomic.Pointer[usage]
	waits   atomic.Bool // it is not told that it is gone, because of what it uses
}

// usage is which roster an agent uses, by its newest report.
type usage struct {
	group      string
	generation int64
}

// agentEnd is where a subscription leads. Its methods do not wait.
type agentEnd interface {
	wakeUp()           // something was published
	endSoon(err error) // the subscription ends for this reason
}

func newSubscription(name identity.Name, number uint64, to agentEnd) *subscription {
	return &subscription{
		name:   name,
		number: number,
		to:     to,
	}
}

// supersede ends the subscription because the pod has a newer one.
func (s *subscription) supersede() {
	s.to.endSoon(refuse(rosterpb.Refusal_REPLACED, "replaced by a newer connection of %s", s.name.Pod))
}

// reports notes which roster the agent uses, and tells whether that has changed.
func (s *subscription) reports(r Report) (changed bool) {
	is := usage{r.GroupUID, r.Generation}
	was := s.uses.Swap(&is)
	return was == nil || *was != is
}

// mayBeGone reports whether the agent may be told that it is on no roster any more. Before it has
// reported, and while it uses a newer roster of the group than the one that is published, it may be
// this manager that is late: one that has just begun to lead may read an older roster from its
// cache. (A Guarded agent reports a roster when it is on its disk; before that it may be told so.
// One that uses a newer roster than a status that was restored is told by the next roster.)
func (s *subscription) mayBeGone(published *Roster) bool {
	uses := s.uses.Load()
	return uses != nil && (published == nil || uses.group != published.GroupUID ||
		uses.generation <= published.Generation)
}

// waitsWithGone reports whether the agent is not told yet that it is gone. A report that changes
// that wakes the subscription, also one that comes while it is looked.
func (s *subscription) waitsWithGone(published *Roster) bool {
	s.waits.Store(true)
	waits := !s.mayBeGone(published)
	s.waits.Store(waits)
	return waits
}

// sent is what was already sent on a subscription.
type sent struct {
	trust  string
	roster *Roster
	gone   bool
	recall int // the agent was asked for its roster at this Recall
	hold   Hold
}

// pending returns what the agent has not been sent yet.
func (s *subscription) pending(p *publisher, last sent) ([]*rosterpb.Update, sent, error) {
	var updates []*rosterpb.Update
	trust, roster, known := p.read(s.name)
	if trust != last.trust {
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Trust{Trust: []byte(trust)},
		})
		last.trust = trust
	}
	if recall := p.recalled(s.name); recall > last.recall {
		last.recall = recall
		s.mayShow.Store(true)
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Show{Show: &rosterpb.ShowRequest{}},
		})
	}
	if hold := p.holds(s.name); hold != last.hold {
		last.hold = hold
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Hold{Hold: &rosterpb.Hold{Reason: hold.Reason, Ready: hold.Ready}},
		})
	}
	switch {
	case !known:
	case roster == nil || !roster.Has(s.name.Pod, s.name.UID):
		if last.gone || s.waitsWithGone(roster) {
			break
		}
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Gone{Gone: &rosterpb.Gone{}},
		})
		last.gone, last.roster = true, nil
	case roster != last.roster:
		signed, err := p.sign(s.name, roster)
		if err != nil {
			return nil, last, refuse(rosterpb.Refusal_UNAVAILABLE, "the manager cannot sign: %v", err)
		}
		if signed == nil {
			break
		}
		updates = append(updates, &rosterpb.Update{
			Update: &rosterpb.Update_Roster{Roster: signed},
		})
		last.gone, last.roster = false, roster
	}
	return updates, last, nil
}
