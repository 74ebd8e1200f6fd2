package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/examples/internal/device"
	"github.com/podesta-dev/podesta/examples/internal/message"
)

const (
	askEvery = 100 * time.Millisecond
	// silence is how long a process that does not answer is waited for before another one may enter.
	// The device refuses it when it goes on.
	silence = 2 * time.Second
)

// desk is what a coordinator knows, as long as it is one.
type desk struct {
	ctx     context.Context // ends before the permission does
	epoch   agent.Epoch
	changed chan struct{} // there may be something to grant

	mu      sync.Mutex
	queue   queue
	granted int64 // turns under this epoch
	inside  guest
}

// guest is who is inside; the zero guest is nobody.
type guest struct {
	process string
	turn    device.Turn
	heard   time.Time // when it has last said so
}

// coordinate grants the device to one process after the other, until ctx ends. agent.Run calls it
// under the epoch of the lease; the epoch is in ctx, too, and so in every message to the processes.
func (p *process) coordinate(ctx context.Context, epoch agent.Epoch) error {
	err := p.preside(ctx, epoch)
	if ctx.Err() == nil { // a process has refused this epoch, so the permission is about to end
		p.say("no longer coordinates: %v", err)
		<-ctx.Done()
	}
	return ctx.Err()
}

func (p *process) preside(ctx context.Context, epoch agent.Epoch) error {
	d, err := p.open(ctx, epoch)
	if err != nil {
		return err
	}
	p.say("coordinates under epoch %v: %v", epoch, d)
	p.place(d)
	defer p.place(nil)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		if err := p.grant(ctx, d); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.changed:
		case <-tick.C:
			if err := p.check(ctx, d); err != nil {
				return err
			}
		}
	}
}

// place places a desk, or takes it away.
func (p *process) place(d *desk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.desk = d
	if d != nil {
		p.former = d
	}
}

// newDesk returns an empty desk. If this process has coordinated under the same epoch before, and
// its session was interrupted, then tickets and turns are counted from there on.
func (p *process) newDesk(ctx context.Context, epoch agent.Epoch) *desk {
	d := &desk{
		ctx:     ctx,
		epoch:   epoch,
		changed: make(chan struct{}, 1),
		queue:   queue{epoch: epoch},
	}
	p.mu.Lock()
	former := p.former
	p.mu.Unlock()
	if former != nil && former.epoch == epoch {
		former.mu.Lock()
		defer former.mu.Unlock()
		d.granted, d.queue.given = former.granted, former.queue.given
	}
	return d
}

// open opens the desk of a new coordinator. The queue of the one before it is gone, but every
// process has its own ticket, and one of them may be inside: so it asks them all. It grants nothing
// before every process has answered, or is gone, or has been silent for too long.
func (p *process) open(ctx context.Context, epoch agent.Epoch) (*desk, error) {
	d := p.newDesk(ctx, epoch)
	began := time.Now()
	for {
		answers, silent, err := p.askAll(ctx)
		if err != nil {
			return nil, err
		}
		if silent == 0 || time.Since(began) >= silence {
			d.restore(answers)
			return d, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(askEvery):
		}
	}
}

// restore makes the queue from what the processes have answered.
func (d *desk) restore(answers map[string]state) {
	for name, s := range answers {
		if (s.Waits.Ticket != Ticket{}) {
			d.queue.add(s.Waits)
		}
		if s.Inside.Compare(d.inside.turn) > 0 {
			d.inside = guest{
				process: name,
				turn:    s.Inside,
				heard:   time.Now(),
			}
		}
	}
}

// String returns who is inside, and who waits.
func (d *desk) String() string {
	who := "nobody is inside"
	if d.inside.process != "" {
		who = fmt.Sprintf("%s is inside in turn %v", d.inside.process, d.inside.turn)
	}
	if len(d.queue.waiting) == 0 {
		return who + ", nobody waits"
	}
	var waiting []string
	for _, r := range d.queue.waiting {
		waiting = append(waiting, fmt.Sprintf("%s with ticket %v", r.Process, r.Ticket))
	}
	return who + ", waiting: " + strings.Join(waiting, ", ")
}

// askAll asks all processes. The error says that one of them has heard a newer coordinator.
func (p *process) askAll(ctx context.Context) (answers map[string]state, silent int, err error) {
	states, errs := make([]state, len(p.peers)), make([]error, len(p.peers))
	var all sync.WaitGroup
	for i, peer := range p.peers {
		all.Go(func() { states[i], errs[i] = p.ask(ctx, peer) })
	}
	all.Wait()
	answers = map[string]state{}
	for i, peer := range p.peers {
		switch {
		case errors.Is(errs[i], fence.ErrStale):
			return nil, 0, errs[i]
		case message.Gone(errs[i]):
		case errs[i] != nil:
			silent++
		default:
			answers[peer.Name] = states[i]
		}
	}
	return answers, silent, nil
}

func (p *process) ask(ctx context.Context, peer message.Peer) (s state, err error) {
	err = p.sender.Fenced().Send(ctx, peer.URL+"/coordinator/ask", struct{}{}, &s)
	return s, err
}

// hearEnter gives a process a ticket.
func (p *process) hearEnter(_ context.Context, r request) (Ticket, error) {
	d, err := p.ownDesk()
	if err != nil {
		return Ticket{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ticket := d.queue.add(r)
	d.change()
	return ticket, nil
}

// hearRelease takes note that a process has left.
func (p *process) hearRelease(_ context.Context, g grant) (struct{}, error) {
	d, err := p.ownDesk()
	if err != nil {
		return struct{}{}, err
	}
	d.left(g.Turn)
	return struct{}{}, nil
}

// ownDesk returns the desk if this process may act as the coordinator.
func (p *process) ownDesk() (*desk, error) {
	p.mu.Lock()
	d := p.desk
	p.mu.Unlock()
	if d == nil || d.ctx.Err() != nil {
		return nil, message.Refuse("%s does not coordinate", p.name)
	}
	return d, nil
}

// left takes note that nobody is in a turn any more.
func (d *desk) left(turn device.Turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside.turn == turn {
		d.inside = guest{}
	}
	d.change()
}

func (d *desk) change() {
	select {
	case d.changed <- struct{}{}:
	default: // it is known
	}
}

// grant lets the next process in, if nobody is inside. A process that may have got its grant counts
// as inside until it says otherwise.
func (p *process) grant(ctx context.Context, d *desk) error {
	for {
		r, turn, ok := d.next()
		if !ok || ctx.Err() != nil { // right before each effect
			return ctx.Err()
		}
		err := p.granter.Fenced().Send(ctx, p.peer(r.Process).URL+"/coordinator/grant", grant{
			ID:     r.ID,
			Ticket: r.Ticket,
			Turn:   turn,
		}, nil)
		switch {
		case errors.Is(err, fence.ErrStale):
			return err
		case message.Gone(err), message.Refused(err):
			d.left(turn)
		default:
			return nil
		}
	}
}

// next returns the next request and its turn, if nobody is inside.
func (d *desk) next() (r request, turn device.Turn, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside.process != "" {
		return r, turn, false
	}
	if r, ok = d.queue.next(); !ok {
		return r, turn, false
	}
	d.granted++
	turn = device.Turn{Epoch: d.epoch, Number: d.granted}
	d.inside = guest{
		process: r.Process,
		turn:    turn,
		heard:   time.Now(),
	}
	return r, turn, true
}

// check asks whether the process that is inside still is. It has left if it says so, if it is gone,
// or if it has been silent for too long: then another may enter in a later turn, and the device
// refuses this one.
func (p *process) check(ctx context.Context, d *desk) error {
	d.mu.Lock()
	inside := d.inside
	d.mu.Unlock()
	if inside.process == "" {
		return nil
	}
	s, err := p.ask(ctx, p.peer(inside.process))
	switch {
	case errors.Is(err, fence.ErrStale):
		return err
	case err == nil && s.Inside == inside.turn:
		d.hear(inside.turn)
	case err == nil:
		d.left(inside.turn)
	case message.Gone(err):
		p.say("finds that %s is gone, which was inside in turn %v", inside.process, inside.turn)
		d.left(inside.turn)
	case ctx.Err() == nil && time.Since(inside.heard) >= silence:
		p.say("waits no longer for %s, which is inside in turn %v and silent",
			inside.process, inside.turn)
		d.left(inside.turn)
	}
	return nil
}

// hear takes note that a process is still inside.
func (d *desk) hear(turn device.Turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside.turn == turn {
		d.inside.heard = time.Now()
	}
}
