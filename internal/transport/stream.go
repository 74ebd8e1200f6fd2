package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// stream is this process's end of a stream that it opened, and that the peer has accepted.
type stream struct {
	*connection
	ctx     context.Context
	cancel  context.CancelFunc
	expired chan struct{} // signals that the peer's certificate has expired
	expiry  *time.Timer   // nil if it never expires
	over    chan error    // why nothing more arrives; sent once
}

// both returns the validity of the certificates of both ends together.
func (c *connection) both() validity { return c.own.within(c.peer) }

// newStream takes ownership of c.
func newStream(ctx context.Context, cancel context.CancelFunc, c *connection) *stream {
	s := &stream{
		connection: c,
		ctx:        ctx,
		cancel:     cancel,
		expired:    make(chan struct{}, 1),
		over:       make(chan error, 1),
	}
	s.expiry = c.peer.untilOver(func() { signal(s.expired) })
	return s
}

// close ends the stream at once.
func (s *stream) close() {
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.cancel()
	s.Close()
}

// attempt opens a stream, and waits until the peer has accepted it. If old is not nil, the stream
// succeeds it: the attempt ends if old ends, and fails if the new stream would not last longer.
func (l *link) attempt(old *stream) (*stream, error) {
	if l.member.Address == "" {
		return nil, &loss{
			evidence: Unreachable,
			cause:    errors.New("the roster has no address of the process"),
		}
	}
	ctx, cancel := context.WithCancel(l.ctx)
	if old != nil {
		defer context.AfterFunc(old.ctx, cancel)()
	}
	// twice as long as for a kernel that does not answer (see tlsWire.connect): a second handshake
	// would only delay a process that is slow with the first
	impatient := time.AfterFunc(halfOpen(l.hub.patience()), cancel)
	c, err := l.hub.dial(ctx, l.member)
	if err == nil {
		err = l.greet(c, old)
	}
	if !impatient.Stop() {
		l, ok := errors.AsType[*loss](err)
		err = &loss{
			evidence:  Unreachable,
			cause:     errors.Join(errors.New("no answer in time"), err),
			connected: c != nil || ok && l.connected,
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		if c != nil {
			c.Close()
		}
		return nil, err
	}
	return newStream(ctx, cancel, c), nil
}

func (l *link) greet(c *connection, old *stream) error {
	if old != nil && !c.both().outlasts(old.both()) {
		return errors.New("the certificates have not been renewed yet")
	}
	start, err := l.hub.signer.sign(l.hub.incarnation)
	if err != nil {
		return rejected(err)
	}
	//nolint:errcheck // accepted returns the reason
	c.sendFrame(helloFrame(start, l.hub.stateID, old != nil, l.hub.file))
	accepted, err := c.welcome()
	if err != nil {
		return err
	}
	if err := l.hub.compare(l.member.Name, accepted.GetRosterFile()); err != nil {
		return rejected(err)
	}
	return nil
}

// carry emits Up and sends what is queued until the stream, and the streams that succeed it, have
// ended. It returns why they ended, or nil if no Down is due: the link retired before it was up, or
// this process leaves or closes.
func (l *link) carry(s *stream) error {
	var background sync.WaitGroup
	defer background.Wait()
	defer func() { s.close() }()
	if !l.setUp() || !l.hub.emit(nil, Up{Name: l.member.Name}) {
		return nil
	}
	for {
		listening := s
		background.Go(func() { listening.over <- l.receive(listening) })
		next, err := l.transmit(s, &background)
		if next == nil {
			return err
		}
		if err := l.handOver(s); err != nil {
			next.close()
			return err
		}
		l.hub.log.Debug("link renewed", "to", l.member.Name, "until", next.both().until)
		s.close()
		s = next
	}
}

// transmit sends what is queued until the stream has ended, or another one is ready to succeed it.
func (l *link) transmit(s *stream, background *sync.WaitGroup) (next *stream, over error) {
	r := l.renew(s, background)
	defer r.stop()
	for {
		select {
		case <-l.peerLeaving:
			return nil, l.errPeerLeft()
		case <-l.ctx.Done():
			return nil, l.errRemoved()
		case err := <-s.over:
			return nil, l.explain(err)
		case <-s.expired:
			return nil, l.errPeerExpired()
		case <-l.retiring:
			return nil, l.retireFrom(s)
		case <-r.due:
			r.begin()
		case next := <-r.successors:
			if next != nil {
				return next, nil
			}
			r.later()
		case frame := <-l.queue:
			if s.sendFrame(frame) != nil {
				l.hub.dropped.Add(1)
				return nil, l.explain(<-s.over)
			}
		}
	}
}

// explain returns why a stream has ended: what this process knows about it, or else what the wire
// reported.
func (l *link) explain(err error) error {
	select {
	case <-l.peerLeaving:
		return l.errPeerLeft()
	default:
	}
	if l.ctx.Err() != nil {
		return l.errRemoved()
	}
	return err
}

func (l *link) errPeerLeft() error {
	return &loss{evidence: Left, cause: errors.New("the process leaves the group")}
}

func (l *link) errPeerExpired() error {
	return rejected(fmt.Errorf("the certificate of %s has expired", l.member.Name))
}

// errRemoved returns that the link was removed; nil if this process closes.
func (l *link) errRemoved() error {
	if l.hub.ctx.Err() != nil {
		return nil
	}
	return &loss{evidence: Dropped, cause: errors.New("the link is no longer needed")}
}

// retireFrom sends what is queued, then Leaving if this process leaves, and waits until the peer
// has read it all, or the stream breaks.
func (l *link) retireFrom(s *stream) error {
	for pending := true; pending; {
		select {
		case frame := <-l.queue:
			if s.sendFrame(frame) != nil {
				return l.errRemoved()
			}
		default:
			pending = false
		}
	}
	if l.leaving && s.sendFrame(leavingFrame()) != nil {
		return l.errRemoved()
	}
	if s.sendFrame(endFrame()) == nil {
		err := <-s.over
		l.hub.log.Debug("link ended", "to", l.member.Name, "error", err)
	}
	return l.errRemoved()
}

// receive turns the replies of the peer into events until the stream ends.
func (l *link) receive(s *stream) error {
	for {
		reply, err := s.receiveReply()
		if err != nil {
			return err
		}
		if s.peer.over() {
			return l.errPeerExpired()
		}
		event, err := l.read(reply)
		if err != nil {
			return err
		}
		if event != nil && !l.hub.emit(s.ctx.Done(), event) {
			return s.ctx.Err()
		}
	}
}

// read returns the event of a reply, or nil if it has none.
func (l *link) read(reply *linkpb.Reply) (Event, error) {
	switch r := reply.GetReply().(type) {
	case *linkpb.Reply_Answer:
		coordinator, generation := r.Answer.GetCoordinator(), r.Answer.GetGeneration()
		err := firstOf(validateName(coordinator), validateGeneration(generation))
		if err != nil {
			return nil, err
		}
		return Answered{
			From:        l.member.Name,
			Sequence:    r.Answer.GetSequence(),
			Coordinator: coordinator,
			Generation:  generation,
		}, nil
	case *linkpb.Reply_LeaseResponse:
		responded, known, err := decodeResponse(r.LeaseResponse)
		if err != nil || !known {
			return nil, err
		}
		responded.From = l.member.Name
		return responded, nil
	case *linkpb.Reply_Roster:
		return RosterReceived{From: l.member.Name, Signed: r.Roster}, nil
	case *linkpb.Reply_Rival:
		l.hub.rival(l.member.Name, r.Rival)
	}
	return nil, nil
}
