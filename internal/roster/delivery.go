package roster

import (
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// delivery sends what is published to the agent of a subscription. At rest it does nothing.
type delivery struct {
	*subscription
	accepted *accepted
	expiry   *time.Timer  // of the certificate
	wakes    atomic.Int64 // since deliver has begun; 0: it does not run
	last     sent         // deliver's
}

// follow begins the subscription.
func (c *accepted) follow() error {
	name, err := c.caller()
	if err != nil {
		return err
	}
	if c.delivery != nil {
		return refuse(rosterpb.Refusal_INVALID, "a connection follows once")
	}
	d := &delivery{accepted: c}
	d.subscription = newSubscription(name, c.server.subscriptions.Add(1), d)
	d.expiry = time.AfterFunc(c.notAfter.Sub(c.server.Now()), func() {
		c.end(refuse(rosterpb.Refusal_UNAUTHENTICATED, "the certificate of this connection has "+
			"expired: join again"))
	})
	c.delivery = d
	c.server.publisher.enter(name, d.subscription)
	c.server.Sightings.opened(name, d.subscription)
	d.wakeUp()
	return nil
}

func (d *delivery) leave() {
	d.expiry.Stop()
	d.accepted.server.Sightings.closed(d.name, d.subscription)
	if !d.accepted.isThere() { // nobody asks what it said
		d.accepted.server.Sightings.Forget(d.name.Namespace, d.name.Group,
			func(uid string) bool { return uid != d.name.UID })
	}
	d.accepted.server.publisher.leave(d.name, d.subscription)
}

func (d *delivery) endSoon(err error) { d.accepted.endSoon(err) }

// wakeUp has what is pending sent.
func (d *delivery) wakeUp() {
	if d.wakes.Add(1) == 1 {
		d.accepted.server.tasks.Go(d.deliver)
	}
}

// deliver sends whatever is published, until nothing is pending.
func (d *delivery) deliver() {
	for {
		woken := d.wakes.Load()
		if err := d.sendPending(); err != nil {
			d.accepted.end(err) // and is not woken any more
			return
		}
		if d.wakes.CompareAndSwap(woken, 0) {
			return
		}
	}
}

func (d *delivery) sendPending() error {
	c := d.accepted
	updates, next, err := d.pending(c.server.publisher, d.last)
	if err != nil {
		return err
	}
	d.last = next
	there := c.isThere()
	c.server.publisher.count(d.subscription, there)
	for _, u := range updates {
		// how the agents are to come back (see reconnection)
		//nolint:gosec // maxBackoff at most
		u.ReturnWithinMilliseconds = int32(spreadOver(c.server.publisher.agents()).Milliseconds())
		if err := c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Update{Update: u}}); err != nil {
			return err
		}
	}
	if d.last.gone && !there {
		return errStray
	}
	if d.last.gone {
		return c.server.moved(c.ctx, d.name)
	}
	return nil
}

// take handles what an agent says about itself.
func (d *delivery) take(message *rosterpb.ToManager) error {
	c := d.accepted
	switch m := message.GetMessage().(type) {
	case *rosterpb.ToManager_Report:
		report, err := reportFromWire(m.Report)
		if err != nil {
			return refuse(rosterpb.Refusal_INVALID, "report: %v", err)
		}
		if _, published, known := c.server.publisher.read(d.name); known {
			report.Table = rowsBy(published, report.Table)
		}
		c.server.Sightings.reported(d.name, d.subscription, report)
		if d.reports(report) && d.waits.Load() {
			d.wakeUp()
		}
	case *rosterpb.ToManager_Held:
		shown := &rosterpb.Shown{}
		if err := c.server.show(d.subscription, m.Held); err != nil {
			shown.Refused = refusalOf(err)
		}
		return c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Shown{Shown: shown}})
	case *rosterpb.ToManager_Ping:
		return c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Pong{Pong: &rosterpb.Pong{}}})
	}
	return nil
}
