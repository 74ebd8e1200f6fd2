package roster

import (
	"sync/atomic"
	"time"

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

// sent is what was already sent on a subscription.
type sent struct {
	trust  string
	roster *Roster
	gone   bool
	recall int // the agent was asked for its roster at this Recall
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
	switch {
	case !known:
	case roster == nil || !roster.Has(s.name.Pod, s.name.UID):
		if !last.gone {
			updates = append(updates, &rosterpb.Update{
				Update: &rosterpb.Update_Gone{Gone: &rosterpb.Gone{}},
			})
		}
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

// following is the subscription of a session.
type following struct {
	*subscription
	session *session
	expiry  *time.Timer  // of the certificate
	wakes   atomic.Int64 // since deliver has begun; 0: it does not run
	last    sent         // deliver's
}

// follow begins the subscription.
func (c *session) follow() error {
	name, err := c.caller()
	if err != nil {
		return err
	}
	if c.following != nil {
		return refuse(rosterpb.Refusal_INVALID, "a connection follows once")
	}
	f := &following{session: c}
	f.subscription = newSubscription(name, c.server.subscriptions.Add(1), f)
	f.expiry = time.AfterFunc(c.notAfter.Sub(c.server.Now()), func() {
		c.end(refuse(rosterpb.Refusal_UNAUTHENTICATED, "the certificate of this connection has "+
			"expired: join again"))
	})
	c.following = f
	c.server.publisher.enter(name, f.subscription)
	c.server.Sightings.opened(name, f.subscription)
	f.wakeUp()
	return nil
}

func (f *following) leave() {
	f.expiry.Stop()
	f.session.server.Sightings.closed(f.name, f.subscription)
	f.session.server.publisher.leave(f.name, f.subscription)
}

func (f *following) endSoon(err error) { f.session.endSoon(err) }

// wakeUp has what is pending sent.
func (f *following) wakeUp() {
	if f.wakes.Add(1) == 1 {
		f.session.server.tasks.Go(f.deliver)
	}
}

// deliver sends whatever is published, until nothing is pending.
func (f *following) deliver() {
	for {
		woken := f.wakes.Load()
		if err := f.sendPending(); err != nil {
			f.session.end(err) // and is not woken any more
			return
		}
		if f.wakes.CompareAndSwap(woken, 0) {
			return
		}
	}
}

func (f *following) sendPending() error {
	c := f.session
	updates, next, err := f.pending(c.server.publisher, f.last)
	if err != nil {
		return err
	}
	f.last = next
	for _, u := range updates {
		// how the agents are to come back (see reconnection)
		//nolint:gosec // maxBackoff at most
		u.ReturnWithinMilliseconds = int32(spreadOver(c.server.publisher.agents()).Milliseconds())
		if err := c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Update{Update: u}}); err != nil {
			return err
		}
	}
	if f.last.gone {
		return c.server.moved(c.ctx, f.name)
	}
	return nil
}

// take handles what an agent says about itself.
func (f *following) take(message *rosterpb.ToManager) error {
	c := f.session
	switch m := message.GetMessage().(type) {
	case *rosterpb.ToManager_Report:
		report, err := reportFromWire(m.Report)
		if err != nil {
			return refuse(rosterpb.Refusal_INVALID, "report: %v", err)
		}
		c.server.Sightings.reported(f.name, f.subscription, report)
	case *rosterpb.ToManager_Held:
		shown := &rosterpb.Shown{}
		if err := c.server.show(f.subscription, m.Held); err != nil {
			shown.Refused = refusalOf(err)
		}
		return c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Shown{Shown: shown}})
	case *rosterpb.ToManager_Ping:
		return c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Pong{Pong: &rosterpb.Pong{}}})
	}
	return nil
}
