package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

// leader runs the command while this process leads, and the standby command while it does not.
type leader struct {
	options
	client agent.Client
	all    *children
	view   agent.View             // as the agent told it last; for the names
	state  atomic.Pointer[string] // for lead --probe

	asked     chan struct{}  // closed when lead was asked to end
	endSignal syscall.Signal // by this; set before

	over context.Context    // ends when nothing is to be led any more
	end  context.CancelFunc // ends it

	overdue atomic.Bool // the permission under which the command runs is about to end

	// leads is held while this process leads. Run calls its work in one goroutine after another.
	leads       sync.Mutex
	stopStandby func() // nil: none runs
	compared    bool   // --grace with the length of a permission
	code        int    // of lead
}

// errDone is what the work returns when lead is to end.
var errDone = errors.New("lead is done")

// guarded runs the command in a Guarded group, until lead is done.
func (l *leader) guarded() error {
	c := l.client
	c.StopWithin = l.grace
	c.Overdue = func(why error) {
		l.overdue.Store(true)
		l.all.strike()
		say("the permission is about to end (%v): what goes on gets SIGKILL", why)
	}
	return c.Run(l.over, l.lead)
}

// classic runs the command in a Classic group. Its permissions have no epoch and no deadline.
func (l *leader) classic() error {
	say("the group is Classic: two processes may lead it at once, and nothing ends the command in " +
		"time. If that does harm, make the group Guarded (spec.safety)")
	granted := make(chan bool)
	kept := make(chan error, 1)
	go func() {
		kept <- l.client.KeepSession(l.over, func(p agent.Permission) {
			select {
			case granted <- p.Granted:
			case <-l.over.Done():
			}
		})
	}()
	leads, stop := false, func() {}
	var done chan struct{} // nil: it does not run
	for {
		select {
		case leads = <-granted:
			if !leads {
				stop()
			}
		case <-done:
			stop()
			done = nil
		case err := <-kept:
			stop()
			if done != nil {
				<-done
			}
			return err
		}
		if leads && done == nil {
			var ctx context.Context
			ctx, stop = context.WithCancel(l.over)
			done = make(chan struct{})
			go func() {
				defer close(done)
				if l.lead(ctx, 0) != nil {
					l.end()
				}
			}()
		}
	}
}

// lead runs the command until it has ended by itself, or this process leads no longer. An error
// means that lead is done.
func (l *leader) lead(ctx context.Context, epoch agent.Epoch) error {
	l.leads.Lock()
	defer l.leads.Unlock()
	l.endStandby()
	if l.isAsked() {
		return errDone
	}
	l.overdue.Store(false)
	if l.view.Group == "" { // the agent had no roster yet when lead began
		l.view, _ = l.client.Coordinator(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	l.compareGrace(ctx)
	env, under := []string{"PODESTA_GROUP=" + l.view.Group, "PODESTA_NAME=" + l.view.Self}, ""
	if epoch != 0 {
		under = fmt.Sprintf(" under epoch %v", epoch)
		env = append(env, "PODESTA_EPOCH="+strconv.FormatInt(int64(epoch), 10))
	}
	l.tell("leads" + under)
	say("%s leads %s%s: it starts %s", l.view.Self, l.view.Group, under, l.command.path)
	return l.ended(ctx, l.runCommand(ctx, env))
}

// ended decides what follows when the command has ended.
func (l *leader) ended(ctx context.Context, e ending) error {
	switch {
	case l.isAsked():
		l.code = e.code
		return errDone
	case !e.bySelf && l.onLoss == exit:
		say("it leads no longer (%v), and %s has ended: so does lead", context.Cause(ctx),
			l.command.path)
		l.code = exitLost
		l.end()
		return errDone
	case !e.bySelf:
		say("it leads no longer (%v), and %s has ended", context.Cause(ctx), l.command.path)
		l.beginStandby() //nolint:contextcheck // it runs when this process does not lead
		return nil
	default:
		say("%s has ended with code %d: it gives the lead up", l.command.path, e.code)
		l.code = e.code
		return errDone
	}
}

// compareGrace warns, once, if a permission is shorter than --grace.
func (l *leader) compareGrace(ctx context.Context) {
	if !l.graced || l.compared {
		return
	}
	l.compared = true
	p, err := l.client.MayAct(ctx)
	if err == nil && p.Valid() && p.Remaining() < l.grace {
		say("a permission lasts %v here, which is shorter than --grace %v: if it is not renewed, the "+
			"command has half of it to end. spec.timing.profile: Patient makes it longer",
			p.Remaining().Round(time.Millisecond), l.grace)
	}
}

func (l *leader) isAsked() bool {
	select {
	case <-l.asked:
		return true
	default:
		return false
	}
}

// beginStandby starts the standby command, if there is one.
func (l *leader) beginStandby() {
	l.tell("waits for the lead")
	if l.standby.path == "" {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.runAgain(ctx, l.standby, nil)
	}()
	l.stopStandby = func() {
		stop()
		<-done
	}
}

func (l *leader) endStandby() {
	if l.stopStandby != nil {
		l.stopStandby()
		l.stopStandby = nil
	}
}

// endIdle ends lead when somebody asks for it. While this process leads, the command ends first.
func (l *leader) endIdle() {
	<-l.asked
	l.leads.Lock()
	defer l.leads.Unlock()
	l.endStandby()
	l.end()
}
