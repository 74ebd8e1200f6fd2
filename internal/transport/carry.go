package transport

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// stream is an open stream together with its life.
type stream struct {
	outbound
	ctx   context.Context
	close func()
}

// attempt opens a stream and waits until the peer has accepted it. A kernel that does not answer is given up sooner (see
// dial) than a process that is slow to shake hands: beginning again would make it slower still.
func (l *link) attempt() (*stream, error) {
	if l.member.Address == "" {
		return nil, &loss{Unreachable, errors.New("the process has no address")}
	}
	ctx, cancel := context.WithCancel(l.ctx)
	impatient := time.AfterFunc(halfOpen(l.hub.patience), cancel)
	out, err := l.greet(ctx)
	if !impatient.Stop() {
		err = &loss{Unreachable, errors.Join(errors.New("no answer in time"), err)}
	}
	if err == nil {
		err = l.ctx.Err()
	}
	if err != nil {
		cancel()
		if out != nil {
			out.Close()
		}
		return nil, err
	}
	return &stream{outbound: out, ctx: ctx, close: func() { cancel(); out.Close() }}, nil
}

func (l *link) greet(ctx context.Context) (outbound, error) {
	out, err := l.hub.wire.open(ctx, l.member)
	if err != nil {
		return nil, err
	}
	if err := out.Send(helloFrame(l.hub.incarnation)); err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}
	return out, out.Accepted()
}

// carry says Up and sends what is queued until the stream is over, and says why it is. Nil: nothing must be said about it,
// because we leave or close.
func (l *link) carry(s *stream) error {
	var answers sync.WaitGroup
	defer answers.Wait()
	defer s.close()
	if !l.setUp() || !l.hub.emit(l.hub.ctx.Done(), Up{Name: l.member.Name}) {
		return nil
	}
	ended := make(chan error, 1)
	answers.Go(func() { ended <- l.listen(s) })
	for {
		select {
		case <-l.leftward:
			return &loss{Left, errors.New("the process said that it leaves")}
		case <-l.ctx.Done():
			return l.takenAway()
		case err := <-ended:
			return l.explain(err)
		case <-l.farewell:
			return l.retireFrom(s, ended)
		case frame := <-l.queue:
			if err := s.Send(frame); err != nil {
				l.hub.dropped.Add(1)
				if errors.Is(err, io.EOF) {
					err = <-ended
				}
				return l.explain(err)
			}
		}
	}
}

// explain prefers what we know to what the wire says about the end of a stream.
func (l *link) explain(err error) error {
	select {
	case <-l.leftward:
		return &loss{Left, errors.New("the process said that it leaves")}
	default:
	}
	if l.ctx.Err() != nil {
		return l.takenAway()
	}
	return err
}

func (l *link) takenAway() error {
	if l.hub.ctx.Err() != nil {
		return nil
	}
	return &loss{Dropped, errors.New("the link is not wanted any more")}
}

// retireFrom sends what is queued, then Leaving if we leave, and waits until the peer has read it all.
func (l *link) retireFrom(s *stream, ended <-chan error) error {
	for pending := true; pending; {
		select {
		case frame := <-l.queue:
			if s.Send(frame) != nil {
				return l.takenAway()
			}
		default:
			pending = false
		}
	}
	if l.leaving && s.Send(leavingFrame()) != nil {
		return nil
	}
	if s.CloseSend() == nil {
		err := <-ended
		l.hub.log.Debug("link ended", "to", l.member.Name, "error", err)
	}
	if l.leaving {
		return nil
	}
	return l.takenAway()
}

// listen turns what comes back into events, until nothing more comes.
func (l *link) listen(s *stream) error {
	for {
		answer, err := s.Recv()
		if err != nil {
			return err
		}
		if err := validateName(answer.GetCoordinator()); err != nil {
			return err
		}
		answered := Answered{From: l.member.Name, Sequence: answer.GetSequence(), Coordinator: answer.GetCoordinator()}
		if !l.hub.emit(s.ctx.Done(), answered) {
			return s.ctx.Err()
		}
	}
}
