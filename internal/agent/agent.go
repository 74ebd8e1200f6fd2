// Package agent drives one process of a group: an election algorithm and a failure detector, over links to the others.
//
// One goroutine (Run) owns the state. It hears events of the links, rosters and timers, lets the machine and the detector
// decide, sends what they say, and posts what it then knows on a Board, from which the app API, the probes and the reports
// to the manager are served. It knows neither Kubernetes nor gRPC.
//
// What is not promised: that a View is still true when it is read. Classic groups fence nothing.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/gate"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// Config says which process an agent drives, and through what. All fields are required, but for Updates (nil: the roster
// never changes), Report and Keep (nil: nobody to tell), and those that say so.
type Config struct {
	Self        string        // the process's name
	UID         string        // of its pod
	Incarnation uint64        // of the process; larger in a later life
	Roster      roster.Roster // to begin with; Self is on it
	Links       transport.Links
	Updates     <-chan roster.Update
	Keep        func(*roster.Roster) error // persists a roster before it is used; nil: the group is gone
	Report      func(roster.Report)        // tells the manager
	Behind      func()                     // another process has a newer roster
	StateID     string                     // identity of the state directory
	Lease       lease.State                // that the state directory holds
	KeepLease   func(lease.State) error    // persists a promise before it is made; nil: this process promises nothing
	Health      <-chan error               // turns of the app's health: nil is well, else what ails it; nil: it is not checked
	Probe       func(roster.AppHealth)     // has the app asked as the roster says, without blocking; nil: the roster has no say in that
	Certified   func() bool                // its certificate has not ended; nil: it never does
	Permit      *Permit                    // what the app may do; its clock is the agent's
	Version     string
	Board       *Board
	Meter       *Meter
	Pings       <-chan chan<- struct{} // each is closed by the loop: it is alive
	Logger      *slog.Logger
}

// agent is the state that Run owns.
type agent struct {
	Config
	gate     *gate.Gate     // nil: this process is on no roster
	lease    *lease.Machine // one for this life of the process, in whatever group it is: it knows what the app was told
	detector *detector.Detector
	alarms   map[election.Timer]time.Time
	timer    *time.Timer
	silent   map[string]bool // watched processes that do not answer though their links are open
	asked    uint64          // sequence of the newest question
	followed uint64          // of the newest question when this process began to follow its coordinator
	episode  episode
	leaving  bool
	unkept   *roster.Update   // that the disk refused; nil: there is none
	again    time.Time        // when it is tried again
	over     error            // why the process ends by itself
	ailment  error            // of the app; nil: it is well
	ill      bool             // the app is not well, or it had a session and has none
	acts     lease.Epoch      // under which this process acts; 0: it does not
	released lease.Epoch      // last
	reach    lease.Reach      // that links were made for
	elected  election.Account // Guarded: of the election that nominated whoever is to hold
	view     View
	table    []election.Entry // scratch
}

// Run drives the process until ctx ends; then it hands over, if it coordinates, says that it leaves, and returns. It closes
// the links.
func Run(ctx context.Context, c Config) error {
	defer c.Links.Close()
	a := &agent{Config: c, alarms: map[election.Timer]time.Time{}, silent: map[string]bool{}, timer: time.NewTimer(0)}
	defer a.timer.Stop()
	if err := a.enter(c.Roster); err != nil {
		return err
	}
	if !a.loop(ctx.Done(), nil) {
		if a.over != nil {
			return a.over
		}
		return fmt.Errorf("process %s: its links were closed", c.Self)
	}
	a.leave()
	return nil
}

// errCertificate is for a process that no manager gives another one.
var errCertificate = errors.New("the certificate has ended: make new ones with `agent keys`, and start the agent again")

// loop handles events until stop is closed or until says so after an event. It returns false if the links ended, or the process has to.
func (a *agent) loop(stop <-chan struct{}, until func() bool) bool {
	for {
		a.settle()
		if until != nil && until() {
			return true
		}
		select {
		case <-stop:
			return true
		case e, ok := <-a.Links.Events():
			if !ok {
				return false
			}
			a.hear(e)
		case u := <-a.Updates:
			a.update(u)
		case <-a.timer.C:
			if !a.readMail() {
				return false
			}
			a.tick(time.Now())
			if a.over != nil {
				return false
			}
		case <-a.Permit.news:
			a.apps()
		case a.ailment = <-a.Health:
			a.apps()
		case p := <-a.Pings:
			close(p)
		}
	}
}

// readMail hears what has arrived before a timer is acted upon: a process that stood still must not take its own silence for
// that of others.
func (a *agent) readMail() bool {
	for range 1024 {
		select {
		case e, ok := <-a.Links.Events():
			if !ok {
				return false
			}
			a.hear(e)
		default:
			return true
		}
	}
	return true
}

// Elected does what a step of the election machine said.
func (a *agent) Elected(before, after election.State, out election.Output) {
	now := time.Now()
	if after.Electing || after.Coordinator == "" {
		a.episode.begin(now)
	}
	for _, op := range out.Timers {
		delete(a.alarms, op.Timer)
		if op.Wait > 0 {
			a.alarms[op.Timer] = now.Add(time.Duration(op.Wait) * a.detector.T())
		}
	}
	for _, envelope := range out.Messages {
		a.Links.Send(envelope.To, a.view.Algorithm, envelope.Message)
		a.Meter.sent(envelope.Message.Kind)
		if a.episode.open() {
			a.episode.record(now, a.Self, envelope.To, envelope.Message)
		}
	}
	if after.Last.Decision != before.Last.Decision || after.Coordinator != before.Coordinator && after.Coordinator != "" {
		a.elected, a.followed = after.Last, a.asked
		if !a.guarded() {
			a.decided(now, after.Coordinator)
		}
	}
}

// decided closes the account of an election: in a Guarded group once somebody holds.
func (a *agent) decided(now time.Time, coordinator string) {
	a.episode.begin(now)
	last := a.episode.end(now, a.elected)
	a.view.Last, a.view.Since = last, now
	a.Meter.elected(last)
	a.Logger.Info("follows", "coordinator", coordinator, "epoch", a.view.Epoch, "reason", last.Reason, "initiator", last.Initiator,
		"sent", last.Sent, "took", last.Duration)
	a.Logger.Debug("election", "transcript", last)
}

// tick lets timers run out, asks, and suspects.
func (a *agent) tick(now time.Time) {
	if a.unkept != nil && !now.Before(a.again) {
		a.update(*a.unkept)
	}
	if a.gate == nil {
		return
	}
	if a.Certified != nil && !a.Certified() {
		a.Logger.Error("the certificate has ended: this process takes part no more until it has another one, and a roster")
		if a.exit(); a.Updates == nil {
			a.over = errCertificate
		}
		return
	}
	for _, t := range [...]election.Timer{election.AwaitAnswer, election.AwaitAnnouncement} {
		if at, ok := a.alarms[t]; ok && !now.Before(at) {
			delete(a.alarms, t)
			a.gate.Elect(election.Event{Type: election.Timeout, Timer: t})
		}
	}
	finding := a.detector.Tick(now)
	for _, q := range finding.Ask {
		a.asked = q.Sequence
		a.Links.Ask(q.Process, q.Sequence)
		a.Meter.questions.Inc()
	}
	for _, name := range finding.Silent {
		a.silent[name] = true
		a.Logger.Warn("does not answer", "process", name, "within", a.detector.T())
		a.gate.Elect(election.Event{Type: election.PeerDown, Process: name})
	}
	if len(finding.Silent) > 0 {
		a.rewire()
	}
	if finding.Suspect != "" {
		a.suspect(now, finding.Suspect)
	}
	a.gate.Authorise(lease.Event{Type: lease.Tick})
}

// suspect: in a Guarded group the voters are asked first.
func (a *agent) suspect(now time.Time, name string) {
	if a.guarded() {
		a.gate.Authorise(lease.Event{Type: lease.Suspected, Process: name})
		return
	}
	a.episode.begin(now)
	a.gate.Elect(election.Event{Type: election.Suspect, Process: name})
}

// settle follows up an event: links and questions go where the machine wants them, the view is posted if it changed, and
// the timer is set.
func (a *agent) settle() {
	if a.gate == nil {
		if a.unkept != nil {
			a.timer.Reset(time.Until(a.again))
		}
		return
	}
	a.permit()
	looks := a.look()
	if looks || a.guarded() && a.reach != a.gate.Lease.Reach() {
		a.rewire()
	}
	if looks {
		a.post()
	}
	now := time.Now()
	next := a.detector.Next(now)
	for _, at := range a.alarms {
		if at.Before(next) {
			next = at
		}
	}
	if a.unkept != nil && a.again.Before(next) {
		next = a.again
	}
	wait := next.Sub(now)
	if a.guarded() {
		wait = min(wait, a.gate.Lease.Next()-a.Now().Boot)
	}
	a.timer.Reset(wait)
}

// rewire links to and asks whom the machine wants. Whoever fell silent on an open link is asked on, to learn when a cut has healed.
func (a *agent) rewire() {
	silent := slices.Sorted(maps.Keys(a.silent))
	links := append(a.gate.Machine.Links(), silent...)
	if a.guarded() {
		a.reach = a.gate.Lease.Reach()
		links = append(links, a.gate.Lease.Links()...)
	}
	slices.Sort(links)
	a.Links.Link(slices.Compact(links))
	coordinator := a.gate.Machine.State().Coordinator
	if coordinator == a.Self {
		coordinator = ""
	}
	a.detector.Watch(coordinator, append(a.gate.Machine.Watched(), silent...))
}
