package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// stream is an open stream with its context and the validity of its certificates.
type stream struct {
	outbound
	ctx     context.Context
	cancel  context.CancelFunc
	both    validity      // of the certificates of both ends together
	peer    validity      // of the peer's certificate
	expired chan struct{} // signals that the peer's certificate has expired
	expiry  *time.Timer   // nil if it never expires
	over    chan error    // why nothing more arrives; sent once
}

// bothOf returns the validity of the certificates of both ends together.
func bothOf(out outbound) validity {
	own, peer := out.Certified()
	return own.within(peer)
}

// newStream takes ownership of out.
func newStream(ctx context.Context, cancel context.CancelFunc, out outbound) *stream {
	_, peer := out.Certified()
	s := &stream{
		outbound: out,
		ctx:      ctx,
		cancel:   cancel,
		both:     bothOf(out),
		peer:     peer,
		expired:  make(chan struct{}, 1),
		over:     make(chan error, 1),
	}
	s.expiry = peer.untilOver(func() { signal(s.expired) })
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

// attempt opens a stream, and waits until the peer has accepted it: on a connection that the peer
// has opened, or else, when it is its turn, on a new one. If old is not nil, the stream is to
// succeed it: the attempt ends if old ends, and fails if the new stream would not last longer.
func (l *link) attempt(old *stream) (*stream, error) {
	if l.member.Address == "" {
		return nil, &loss{Unreachable, errors.New("the roster has no address of the process")}
	}
	ctx := l.ctx
	if old != nil {
		ctx = old.ctx
	}
	for {
		s, err := l.try(old, l.hub.wire.share)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errNotShared) {
			l.hub.log.Debug("no stream on the connection that is there", "to", l.member.Name,
				"error", err)
		}
		if turn := l.hub.turns.take(ctx, l.longest(), l.hurried); turn != nil {
			s, err := l.try(old, l.hub.wire.open)
			turn.end(err == nil)
			return s, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// longest returns how long an attempt may take. It is longer than a kernel that does not answer is
// waited for (see dial): a process whose handshake is slow would only be delayed by another one.
func (l *link) longest() time.Duration { return halfOpen(l.hub.patience()) }

func (l *link) try(old *stream, open func(context.Context, Member) (outbound, error)) (*stream,
	error) {
	ctx, cancel := context.WithCancel(l.ctx)
	if old != nil {
		defer context.AfterFunc(old.ctx, cancel)()
	}
	impatient := time.AfterFunc(l.longest(), cancel)
	out, err := open(ctx, l.member)
	if err == nil {
		err = l.greet(out, old)
	}
	if !impatient.Stop() {
		err = &loss{Unreachable, errors.Join(errors.New("no answer in time"), err)}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		if out != nil {
			out.Close()
		}
		return nil, err
	}
	return newStream(ctx, cancel, out), nil
}

func (l *link) greet(out outbound, old *stream) error {
	if old != nil && !bothOf(out).outlasts(old.both) {
		return errors.New("the certificates have not been renewed yet")
	}
	err := out.Send(helloFrame(l.hub.incarnation, l.hub.stateID, old != nil))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return out.Accepted()
}

// carry emits Up and sends what is queued until the stream, and the streams that succeed it, have
// ended. It returns why they ended, or nil if no Down is due: the link retired before it was up, or
// this process leaves or closes.
func (l *link) carry(s *stream) error {
	var background sync.WaitGroup
	defer background.Wait()
	defer func() { s.close() }()
	if !l.setUp() || !l.hub.emit(l.hub.ctx.Done(), Up{Name: l.member.Name}) {
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
		l.hub.log.Debug("link renewed", "to", l.member.Name, "until", next.both.until)
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
			if err := s.Send(frame); err != nil {
				l.hub.dropped.Add(1)
				if errors.Is(err, io.EOF) {
					err = <-s.over
				}
				return nil, l.explain(err)
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
	return &loss{Left, errors.New("the process leaves the group")}
}

func (l *link) errPeerExpired() error {
	return &loss{Rejected, fmt.Errorf("the certificate of %s has expired", l.member.Name)}
}

// errRemoved returns that the link was removed; nil if this process closes.
func (l *link) errRemoved() error {
	if l.hub.ctx.Err() != nil {
		return nil
	}
	return &loss{Dropped, errors.New("the link is no longer needed")}
}

// retireFrom sends what is queued, then Leaving if this process leaves, and waits until the peer
// has read it all, or the stream breaks.
func (l *link) retireFrom(s *stream) error {
	for pending := true; pending; {
		select {
		case frame := <-l.queue:
			if s.Send(frame) != nil {
				return l.errRemoved()
			}
		default:
			pending = false
		}
	}
	if l.leaving && s.Send(leavingFrame()) != nil {
		return l.errRemoved()
	}
	if s.CloseSend() == nil {
		err := <-s.over
		l.hub.log.Debug("link ended", "to", l.member.Name, "error", err)
	}
	return l.errRemoved()
}

// receive turns the answers of the peer into events until the stream ends.
func (l *link) receive(s *stream) error {
	for {
		answer, err := s.Recv()
		if err != nil {
			return err
		}
		if s.peer.over() {
			return l.errPeerExpired()
		}
		event, err := l.read(answer)
		if err != nil {
			return err
		}
		if event != nil && !l.hub.emit(s.ctx.Done(), event) {
			return s.ctx.Err()
		}
	}
}

// read returns the event of an answer, or nil if it is of an unknown kind.
func (l *link) read(answer *linkpb.Answer) (Event, error) {
	if v := answer.GetLeaseResponse(); v != nil {
		decided, known, err := decodeResponse(v)
		if err != nil || !known {
			return nil, err
		}
		decided.From = l.member.Name
		return decided, nil
	}
	if signed := answer.GetRoster(); len(signed) > 0 {
		return RosterReceived{From: l.member.Name, Signed: signed}, nil
	}
	err := firstOf(validateName(answer.GetCoordinator()), validateGeneration(answer.GetGeneration()))
	if err != nil {
		return nil, err
	}
	return Answered{
		From:        l.member.Name,
		Sequence:    answer.GetSequence(),
		Coordinator: answer.GetCoordinator(),
		Generation:  answer.GetGeneration(),
	}, nil
}
