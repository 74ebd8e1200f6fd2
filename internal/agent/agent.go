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
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// Config says which process an agent drives, and through what. All fields are required, but for Updates (nil: the roster
// never changes), Report and Keep (nil: nobody to tell).
type Config struct {
	Self        string        // the process's name
	UID         string        // of its pod
	Incarnation uint64        // of the process; larger in a later life
	Roster      roster.Roster // to begin with; Self is on it
	Links       transport.Links
	Updates     <-chan roster.Update
	Keep        func(*roster.Roster) error // persists a roster before it is used; nil: the group is gone
	Report      func(roster.Report)        // tells the manager
	Memory      string                     // identity of the state directory, for reports
	Version     string
	Board       *Board
	Meter       *Meter
	Pings       <-chan chan<- struct{} // each is closed by the loop: it is alive
	Logger      *slog.Logger
}

// agent is the state that Run owns.
type agent struct {
	Config
	machine  *election.Machine // nil: this process is on no roster
	detector *detector.Detector
	alarms   map[election.Timer]time.Time
	timer    *time.Timer
	silent   map[string]bool // watched processes that do not answer though their links are open
	asked    uint64          // sequence of the newest question
	followed uint64          // of the newest question when this process began to follow its coordinator
	episode  episode
	leaving  bool
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
		return fmt.Errorf("process %s: its links were closed", c.Self)
	}
	a.leave()
	return nil
}

// loop handles events until stop is closed or until says so after an event. It returns false if the links ended.
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

// step gives an event to the machine and does what it says.
func (a *agent) step(e election.Event) {
	if a.machine == nil {
		return
	}
	now := time.Now()
	before := a.machine.State()
	out := a.machine.Step(e)
	after := a.machine.State()
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
		a.decided(now, after)
	}
}

// decided closes the account of an election.
func (a *agent) decided(now time.Time, s election.State) {
	a.episode.begin(now)
	last := a.episode.end(now, s.Last)
	a.followed = a.asked
	a.view.Last, a.view.Since = last, now
	a.Meter.elected(last)
	a.Logger.Info("follows", "coordinator", s.Coordinator, "reason", last.Reason, "initiator", last.Initiator,
		"sent", last.Sent, "took", last.Duration)
	a.Logger.Debug("election", "transcript", last)
}

// tick lets timers run out, asks, and suspects.
func (a *agent) tick(now time.Time) {
	if a.machine == nil {
		return
	}
	for _, t := range [...]election.Timer{election.AwaitAnswer, election.AwaitAnnouncement} {
		if at, ok := a.alarms[t]; ok && !now.Before(at) {
			delete(a.alarms, t)
			a.step(election.Event{Type: election.Timeout, Timer: t})
		}
	}
	finding := a.detector.Tick(now)
	for _, q := range finding.Ask {
		a.asked = q.Sequence
		a.Links.Ask(q.Process, q.Sequence)
	}
	for _, name := range finding.Silent {
		a.silent[name] = true
		a.Logger.Warn("does not answer", "process", name, "within", a.detector.T())
		a.step(election.Event{Type: election.PeerDown, Process: name})
	}
	if len(finding.Silent) > 0 {
		a.rewire()
	}
	if finding.Suspect != "" {
		a.episode.begin(now)
		a.step(election.Event{Type: election.Suspect, Process: finding.Suspect})
	}
}

// settle follows up an event: links and questions go where the machine wants them, the view is posted if it changed, and
// the timer is set.
func (a *agent) settle() {
	if a.machine == nil {
		return
	}
	if a.look() {
		a.rewire()
		a.post()
	}
	now := time.Now()
	next := a.detector.Next(now)
	for _, at := range a.alarms {
		if at.Before(next) {
			next = at
		}
	}
	a.timer.Reset(next.Sub(now))
}

// rewire links to and asks whom the machine wants. Whoever fell silent on an open link is asked on, to learn when a cut has healed.
func (a *agent) rewire() {
	silent := slices.Sorted(maps.Keys(a.silent))
	a.Links.Link(append(a.machine.Links(), silent...))
	coordinator := a.machine.State().Coordinator
	if coordinator == a.Self {
		coordinator = ""
	}
	a.detector.Watch(coordinator, append(a.machine.Watched(), silent...))
}

// look takes the machine's state into the view and reports whether it differs.
func (a *agent) look() bool {
	s := a.machine.State()
	a.table = a.machine.AppendTable(a.table[:0])
	if s.Coordinator == a.view.Coordinator && s.Electing == a.view.Electing && s.Withdrawn == a.view.Withdrawn &&
		a.view.Generation == a.Roster.Generation && slices.Equal(a.table, a.view.table) {
		return false
	}
	coordinator, _ := a.Roster.Find(s.Coordinator)
	a.view.Name, a.view.Generation, a.view.Algorithm = a.Self, a.Roster.Generation, a.Roster.Algorithm
	a.view.Coordinator, a.view.Priority = s.Coordinator, coordinator.Priority
	a.view.Electing, a.view.Withdrawn, a.view.T = s.Electing, s.Withdrawn, a.detector.T()
	a.view.table = slices.Clone(a.table)
	a.view.Processes = make([]ProcessView, len(a.table))
	for i, e := range a.table {
		a.view.Processes[i] = ProcessView{Name: e.Name, Priority: a.Roster.Processes[i].Priority, State: state(e.Status)}
	}
	return true
}

// post shows the view, and reports it.
func (a *agent) post() {
	a.Board.post(a.view)
	if a.Report != nil {
		a.Report(a.report())
	}
}
