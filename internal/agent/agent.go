// Package agent drives one process of a group: it does the input and output around a node.Node, and
// decides nothing.
//
// One goroutine (Run) owns the Node. It brings it the events of links, rosters, the app and the
// clock, carries out each Ready in the order that package node prescribes, and publishes the view,
// from which the app API, the probes and the reports to the manager are served. A second goroutine
// writes to the disk, so that a slow disk delays only what depends on it. The package knows neither
// Kubernetes nor the wire.
//
// What is not promised: that a View is still true when it is read. Classic groups fence nothing.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// Config says which process an agent drives, and through what. All fields are required, except
// those whose comment says what nil means.
type Config struct {
	Self        string        // the name of the process
	UID         string        // of its pod
	StateID     string        // of its state directory
	Incarnation uint64        // of the process; larger in a later one
	Roster      roster.Roster // to begin with; Self is on it
	Links       transport.Links
	// Updates brings rosters from the manager; nil: the roster never changes. Open reads one that
	// another process passed on, if the manager signed it (roster.Open); nil: none is read.
	Updates <-chan roster.Update
	Open    func(signed []byte) (roster.Roster, error)
	// Saved is what the state directory holds, and Save replaces it: what the voter must not forget
	// and the roster in use, nil if the process is on none. Save returns when both are on the disk.
	// It is called by one goroutine at a time, not by Run's.
	Saved lease.State
	Save  func(lease.State, *roster.Roster) error
	// Report tells the manager; nil: there is none. Behind tells it that another process has a
	// newer roster; nil: nobody wants to know.
	Report func(roster.Report)
	Behind func()
	// Again has the manager send the roster that counts on Updates again; required with Updates if
	// there is Certified.
	Again func()
	// Health brings changes of the app's health: nil is healthy, anything else says what is wrong.
	// Nil channel: nobody checks. Probe has the app checked as the roster says, without blocking;
	// nil: there are no probes. OwnHealth: the roster has no say in that.
	Health    <-chan error
	Probe     func(roster.AppHealth)
	OwnHealth bool
	// Certified reports whether the certificate is valid still; nil: it always is.
	Certified func() bool
	Ledger    *Ledger // what the app may do; its clock is the agent's
	Version   string
	Rules     int32 // the newest rules level that this agent supports (lease.Rules); 0 counts as 1
	// Throttled is by how much the process's CPU quota may delay lease.Burst; 0: it has none.
	Throttled time.Duration
	Views     *Views
	Meter     *Meter
	Accounts  *Accounts              // of elections
	Pings     <-chan chan<- struct{} // each is closed by the loop: it is alive
	Logger    *slog.Logger
}

// agent is the state that Run owns.
type agent struct {
	Config
	node      *node.Node
	offered   *roster.Roster // the newest that the node was given
	inUse     *roster.Roster // nil: the process is on no roster
	links     []string
	unlinked  map[string]string // why there is no link to these of them; see transport.Unlinked
	writer    *writer
	written   node.Write // the newest that was begun
	timer     *time.Timer
	set       lease.Instant // when the timer runs out, on CLOCK_BOOTTIME; negative: it is not set
	now       lease.Reading // when it read the event that it handles
	next      lease.Instant // when the node wants a Tick
	renewals  renewals
	unhealthy error // why the app is; nil: it is healthy
	// wantsSession: the roster says that only a process whose app has a session is a candidate.
	wantsSession bool
	expected     bool // it was written that the app keeps a session
	left         bool
	// others have heard a later incarnation of this process; nil: not as far as it knows
	outnumbered *OutnumberedError
	expired     bool // its certificate has ended
	lapsed      bool // it has left its group because of that, and has no other reason to stay away
	view        View
}

// OutnumberedError is why a process ends at once: others have heard a later incarnation of it, and
// ignore this one for ever. It has to start again with a higher number.
type OutnumberedError struct {
	By          string // one of the others
	Own, Latest uint64 // incarnations
}

func (e *OutnumberedError) Error() string {
	return fmt.Sprintf("%s has heard incarnation %d of this process, so it ignores this one, which "+
		"is %d: another copy of this process has run, or its state directory is new and its clock was "+
		"ahead before", e.By, e.Latest, e.Own)
}

// Run drives the process until ctx ends. Then the process hands over, if it coordinates, and says
// that it leaves. If others ignore it, it ends as if it had crashed, with an OutnumberedError. Run
// closes the links, and returns when all that it started has ended, but for a write to a disk that
// hangs.
func Run(ctx context.Context, c Config) error {
	defer c.Links.Close()
	a := &agent{
		Config: c,
		timer:  time.NewTimer(time.Hour),
		set:    -1,
		writer: newWriter(c.Save),
	}
	defer a.Accounts.run(c.Self, c.Incarnation)()
	defer a.writer.close()
	defer a.timer.Stop()
	a.node = node.New(node.Config{
		Self: lease.Incarnation{
			Name:    c.Self,
			UID:     c.UID,
			StateID: c.StateID,
			Number:  c.Incarnation,
		},
		Saved:     c.Saved,
		Seed:      c.Incarnation,
		Now:       c.Ledger.clocks.Read(),
		Rules:     c.Rules,
		Managed:   c.Updates != nil,
		Throttled: c.Throttled,
	})
	if err := a.begin(); err != nil {
		return err
	}
	if err := a.loop(ctx.Done()); err != nil {
		return err
	}
	a.sayGoodbye(context.WithoutCancel(ctx))
	return nil
}

// begin takes the first roster. A process that does not support its rules level waits for another
// one from the manager, and tells it which level it supports.
func (a *agent) begin() error {
	err := a.receiveRoster(&a.Roster)
	if _, unsupported := errors.AsType[*lease.RulesError](err); unsupported && a.Updates != nil {
		a.Logger.Error("this process cannot take part with the roster that it was given", "error", err)
		a.publish()
		return nil
	}
	return err
}

// sayGoodbye says on every link that this process ends, and waits a little until the others have
// heard it.
func (a *agent) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	a.Links.Leave(ctx)
}

// loop brings the node its events, until it has left after stop is closed.
func (a *agent) loop(stop <-chan struct{}) error {
	for !a.left {
		if a.outnumbered != nil {
			return a.outnumbered
		}
		if err := a.comeBack(); err != nil {
			return err
		}
		if wake := a.wake(); a.set != wake {
			a.set = wake
			a.timer.Reset(wake - a.Ledger.clocks.Boot())
		}
		select {
		case <-stop:
			stop = nil
			a.step(node.Event{Type: node.Leave})
		case e, ok := <-a.Links.Events():
			if !ok {
				return fmt.Errorf("process %s: its links were closed", a.Self)
			}
			a.hear(e)
		case u := <-a.Updates:
			a.update(u)
		case <-a.timer.C:
			a.set = -1
			if err := a.tick(); err != nil {
				return err
			}
		case o := <-a.writer.outcomes:
			a.readClocks()
			a.carryOut(a.node.Advance(a.now, o.number, o.err))
		case <-a.Ledger.sessions:
			a.told()
		case name := <-a.Ledger.suspicions:
			a.step(node.Event{Type: node.AppSuspects, From: name})
		case gap := <-a.Ledger.gaps:
			a.step(node.Event{Type: node.AppAsked, Length: gap})
		case a.unhealthy = <-a.Health:
			a.health()
		case answer := <-a.Accounts.asks:
			answer <- a.latest()
		case p := <-a.Pings:
			close(p)
		}
	}
	return nil
}

// mailAtOnce is how many events of the links are handled before a tick.
const mailAtOnce = 1024

// tick brings the node what has arrived before its timer ran out: a process that stood still must
// not take its own silence for that of others.
func (a *agent) tick() error {
	late := a.Ledger.clocks.Boot() - a.next
	if late < 0 { // the timer ran out at what the node wanted before
		return nil
	}
	if late > stoodStill {
		letRead()
	}
	for n := 0; n < mailAtOnce; n++ {
		select {
		case e, ok := <-a.Links.Events():
			if !ok {
				return fmt.Errorf("process %s: its links were closed", a.Self)
			}
			a.hear(e)
		default:
			n = mailAtOnce
		}
	}
	a.step(node.Event{Type: node.Tick})
	return nil
}

// stoodStill is how late a timer runs out in a process that stood still. Go's poller rounds to
// milliseconds.
const stoodStill = 2 * time.Millisecond

// letRead waits until the readers of the links have read what had arrived. Go runs timers that are
// due first. It asks the poller what there is to read when nothing else can run.
func letRead() { <-time.After(time.Millisecond) }

// health brings the node what the checks of the app have found.
func (a *agent) health() {
	e := node.Event{Type: node.Healthy}
	if a.unhealthy != nil {
		e.Type = node.Unhealthy
	}
	a.step(e)
}

// told brings the node what the app relies on, and whether it has a session.
func (a *agent) told() {
	a.readClocks() // before the ledger: a certificate that has ended revokes what is told until then
	e := node.Event{
		Type:     node.Told,
		Now:      a.now,
		Until:    a.Ledger.told(),
		Deserted: a.Ledger.deserted() || a.wantsSession && a.Ledger.open() == 0,
	}
	a.carryOut(a.node.Step(e))
	if !a.expected && a.inUse != nil && a.Ledger.Expected() {
		a.expected = true
		a.write(a.written)
	}
}

// step brings the node an event, and carries out what it says.
func (a *agent) step(e node.Event) {
	a.readClocks()
	e.Now = a.now
	a.carryOut(a.node.Step(e))
}

// readClocks reads the clocks for the event that has come. One reading serves all that follows from
// it.
func (a *agent) readClocks() {
	a.now = a.Ledger.clocks.Read()
	a.checkCertificate()
	a.countPause()
}

// countPause counts that this process stood still, if it is that late for what it meant to do.
func (a *agent) countPause() {
	late, t := a.now.Boot-a.next, a.node.T()
	if a.next != 0 && t != 0 && late > t/2 {
		a.Meter.pauses.Inc()
		a.Meter.paused.Add(late.Seconds())
	}
}
