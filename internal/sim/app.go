package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// app is the application beside an agent. It asks every now and then whether it may act, and acts
// at once, or after a pause that comes between check and act. Some apps keep a session, and close
// it when they have heeded a revocation. An app outlives its agent, and acts on until its deadline.
type app struct {
	process  lease.Incarnation // whose permission it has
	keeps    bool              // a session
	session  *lease.Session
	alive    bool
	epoch    lease.Epoch
	deadline lease.Instant // until when it may act; 0: it may not
	group    int
}

// start is what a new run of the agent means to the app: its session has ended.
func (a *app) start(self lease.Incarnation) {
	a.session = nil
	if a.process.UID != self.UID {
		*a = app{keeps: a.keeps}
	}
	a.alive = true
}

// acts reports whether the app may act, by what it was told and by its clock.
func (w *World) acts(p int32) bool {
	v := &w.processes[p]
	return v.app.alive && v.app.deadline > 0 && v.clock.instant(w.now) < v.app.deadline
}

// poll: the app asks.
func (w *World) poll(p int32) {
	v := &w.processes[p]
	w.plan(w.now+w.within(2*heartbeat), Looks, pollTask, p)
	a := &v.app
	if v.node == nil || !a.alive || p == w.rogue {
		return
	}
	if a.keeps && a.session == nil && !w.acts(p) {
		a.session = v.ledger.Open()
		w.toldAnew(p)
		if v.node == nil {
			return
		}
	}
	now := v.clock.instant(w.now)
	if a.session != nil {
		if granted, ok := v.ledger.UseIn(a.session, now); ok {
			w.use(p, granted)
		}
	} else if !a.keeps {
		w.ask(p, now)
	}
}

// ask is the question of an app that keeps no session.
func (w *World) ask(p int32, now lease.Instant) {
	v := &w.processes[p]
	granted, ok := v.ledger.Use(now)
	if !ok {
		return
	}
	w.use(p, granted)
	if gap := v.ledger.Gap(granted, now); gap > 0 {
		w.step(p, &node.Event{Type: node.AppAsked, Length: gap})
	}
}

// use: the app knows that it may act, and does.
func (w *World) use(p int32, granted lease.Permission) {
	v := &w.processes[p]
	a := &v.app
	if granted.Epoch != a.epoch && w.out != nil {
		w.tell("%s: its app may act under %s", v.name, granted.Epoch)
	}
	a.process, a.epoch, a.group = v.self, granted.Epoch, w.groupOf(p)
	a.deadline = max(a.deadline, granted.Deadline+time.Duration(w.sabotage.overstay))
	w.checkApps(p)
	if w.rng.IntN(4) > 0 {
		w.act(p, a.epoch, a.group)
		return
	}
	t := w.plan(w.now+w.lasting(20*T), Looks, actTask, p) // paused between check and act
	t.number, t.slot = uint64(a.epoch), int32(a.group)
}

func (w *World) actLate(t *task) { w.act(t.p, lease.Epoch(t.number), int(t.slot)) }

// revoke takes the permission from the app. One that keeps a session hears of it.
func (w *World) revoke(p int32) {
	v := &w.processes[p]
	if !w.sabotage.keepPermission {
		v.ledger.Grant(lease.Permission{})
	}
	if v.app.session != nil && v.app.deadline > 0 && !w.chance(w.Deaf) {
		t := w.plan(w.now+w.within(Unit/10), Looks, stopTask, p)
		t.number = v.number
	}
}

// heed: the app has stopped, and closes its session to say so. It opens another one soon.
func (w *World) heed(t *task) {
	v := &w.processes[t.p]
	a := &v.app
	if v.number != t.number || a.session == nil || !a.alive {
		return
	}
	a.deadline = 0
	if v.node == nil {
		return
	}
	v.ledger.Close(a.session)
	a.session = v.ledger.Open()
	w.toldAnew(t.p)
}

// toldAnew tells the Node what a session that was opened or closed has changed.
func (w *World) toldAnew(p int32) {
	w.step(p, w.told(p))
}

// told is what the app relies on, and whether it has a session.
func (w *World) told(p int32) *node.Event {
	v := &w.processes[p]
	e := node.Event{Type: node.Told, Deserted: v.ledger.Deserted()}
	if !w.sabotage.forgetTold {
		e.Until = v.ledger.Told()
	}
	return &e
}

// health tells the Node whether the app can do a coordinator's work.
func (w *World) health(p int32) {
	v := &w.processes[p]
	if v.node == nil {
		return
	}
	e := node.Event{Type: node.Healthy}
	if v.sick {
		e.Type = node.Unhealthy
	}
	w.tell("%s: its app is healthy: %t", v.name, !v.sick)
	w.step(p, &e)
}

// cutSession: the agent ends a session. The app did not give back what it was told there.
func (w *World) cutSession(p int32) {
	v := &w.processes[p]
	if v.node == nil || v.app.session == nil {
		return
	}
	w.tell("%s: cuts its app's session", v.name)
	v.ledger.Cut(v.app.session)
	v.app.session = nil
	w.toldAnew(p)
}

// endApp ends the app alone; its container starts again. Its kernel closes its session.
func (w *World) endApp(p int32) {
	v := &w.processes[p]
	w.tell("%s: its app ends", v.name)
	session := v.app.session
	v.app = app{keeps: v.app.keeps, alive: true}
	if v.node != nil && session != nil {
		v.ledger.Close(session)
		w.toldAnew(p)
	}
}
