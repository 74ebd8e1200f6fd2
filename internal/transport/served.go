package transport

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// answersAhead is how many answers may wait for a peer. A peer that sends more questions without
// reading gets no answers to the rest.
const answersAhead = 16

// served is this end of a stream that a peer opened. It has three goroutines: serve waits for the
// first reason to end it, because the stream ends only when serve returns; read and write block in
// the wire.
type served struct {
	hub         *hub
	from, uid   string
	certified   validity // of the certificate with which it was opened
	incarnation uint64   // known after the Hello, as are stateID and succeeds
	stateID     string
	succeeds    bool // the previous stream ends in order, and what arrives on it comes first
	stream      inbound
	answers     chan *linkpb.Answer // a stream that succeeds another uses the channel of that one
	helloTimer  *time.Timer         // ends a stream that does not send Hello
	done        chan struct{}       // closed when nothing more is emitted by this stream
	written     chan struct{}       // closed when no more answers are written to its stream
	// succeeds this stream and waits for its end; guarded by the hub's mutex
	next *served

	once   sync.Once
	ended  chan struct{}
	reason error // nil if it ended in order; valid once ended is closed
}

// serve receives a stream of the process that the certificate names. The peer is told the error
// that it returns.
func (h *hub) serve(from, uid string, certified validity, stream inbound) error {
	s := &served{
		hub:       h,
		from:      from,
		uid:       uid,
		certified: certified,
		stream:    stream,
		answers:   make(chan *linkpb.Answer, answersAhead),
		done:      make(chan struct{}),
		written:   make(chan struct{}),
		ended:     make(chan struct{}),
	}
	if expiry := certified.untilOver(s.expire); expiry != nil {
		defer expiry.Stop()
	}
	enough := halfOpen(h.patience())
	s.helloTimer = time.AfterFunc(enough, func() {
		s.end(refuse(malformed, "no Hello arrived "+
			"within %s", enough))
	})
	defer s.helloTimer.Stop()
	if !h.start(s.read) {
		return refuse(ending, "%s is stopping", h.self)
	}
	select {
	case <-s.ended:
	case <-h.ctx.Done():
		s.end(refuse(ending, "%s is stopping", h.self))
	}
	if s.reason != nil {
		h.log.Debug("stream ended", "from", from, "reason", s.reason)
		return s.reason
	}
	s.finish()
	return nil
}

// finish waits until the answer that is being written is with the kernel.
func (s *served) finish() {
	enough := time.NewTimer(s.hub.patience())
	defer enough.Stop()
	select {
	case <-s.written:
	case <-enough.C:
	case <-s.hub.ctx.Done():
	}
}

func (s *served) expire() { s.end(refuse(unwanted, "the certificate of %s has expired", s.from)) }

// end has the stream end: serve returns the reason. Only the first one counts.
func (s *served) end(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.ended)
	})
}

// endAll has the stream end, and the one that waits for its end. The hub's mutex must be held.
func (s *served) endAll(reason error) {
	s.end(reason)
	if s.next != nil {
		s.next.end(reason)
	}
}

// sameIncarnation reports whether both streams belong to one incarnation of a process.
func (s *served) sameIncarnation(other *served) bool {
	return s.uid == other.uid && s.incarnation == other.incarnation && s.stateID == other.stateID
}

// outlives reports whether s goes on when its sender opens the other stream, because that one is of
// an older incarnation.
func (s *served) outlives(other *served) bool {
	return s.uid == other.uid && s.incarnation > other.incarnation && !isClosed(s.ended)
}

func (s *served) read() {
	defer close(s.done)
	defer s.hub.forget(s)
	s.end(s.receive())
}

// receive handles the frames of the stream until it ends.
func (s *served) receive() error {
	frame, err := s.stream.Recv()
	if err != nil {
		return err
	}
	s.helloTimer.Stop()
	hello := frame.GetHello()
	if hello == nil {
		return refuse(malformed, "the first frame must be a Hello")
	}
	if err := validateStateID(hello.GetStateId()); err != nil {
		return refuse(malformed, "%v", err)
	}
	s.incarnation, s.stateID, s.succeeds = hello.GetIncarnation(), hello.GetStateId(),
		hello.GetSucceeds()
	if s.certified.over() {
		s.expire()
		return s.reason
	}
	before, err := s.hub.register(s)
	if err != nil {
		return err
	}
	if err := s.begin(before); err != nil {
		return err
	}
	if !s.hub.start(s.write) {
		return refuse(ending, "%s is stopping", s.hub.self)
	}
	for {
		frame, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if isClosed(s.ended) {
			return s.reason
		}
		if over, err := s.take(frame); over || err != nil {
			return err
		}
	}
}

// begin accepts the stream and waits until the stream before it, if any, has ended. A stream that
// succeeds another one is accepted first, because only then does the peer end the other one.
func (s *served) begin(before *served) error {
	if before != nil && !s.succeeds {
		<-before.done // soon, because it was told to end
	}
	if err := s.stream.Accept(); err != nil {
		return err
	}
	if before == nil || !s.succeeds {
		s.hub.hurry(s.from)
		return nil
	}
	for _, last := range []<-chan struct{}{before.done, before.written} {
		select {
		case <-last:
		case <-s.ended:
			return s.reason
		}
	}
	return nil
}

// take emits the event of a frame. over is true if nothing more will come from the peer.
func (s *served) take(frame *linkpb.Frame) (over bool, err error) {
	if s.certified.over() {
		s.expire()
		return true, nil
	}
	switch f := frame.GetFrame().(type) {
	case *linkpb.Frame_Message:
		m, err := decode(f.Message)
		if err != nil {
			return true, refuse(malformed, "%v", err)
		}
		s.hub.emit(s.ended, Received{
			From:        s.from,
			Incarnation: s.incarnation,
			Algorithm:   f.Message.GetAlgorithm(),
			Sequence:    f.Message.GetSequence(),
			Message:     m,
		})
	case *linkpb.Frame_Ask:
		if err := validateGeneration(f.Ask.GetGeneration()); err != nil {
			return true, refuse(malformed, "%v", err)
		}
		s.hub.emit(s.ended, Asked{
			From:        s.from,
			Incarnation: s.incarnation,
			Generation:  f.Ask.GetGeneration(),
			Answer:      s.answer(f.Ask.GetSequence()),
		})
	case *linkpb.Frame_RosterRequest:
		s.hub.emit(s.ended, RosterRequested{From: s.from, Answer: s.handRoster})
	case *linkpb.Frame_LeaseRequest:
		p, known, err := decodeRequest(f.LeaseRequest)
		if err != nil {
			return true, refuse(malformed, "%v", err)
		}
		if known {
			s.hub.emit(s.ended, LeaseRequested{
				From:        s.from,
				Incarnation: s.incarnation,
				StateID:     s.stateID,
				Request:     p,
				Answer:      s.decide,
			})
		}
	case *linkpb.Frame_Leaving:
		s.hub.left(s.from)
		return true, nil
	case *linkpb.Frame_Hello:
		return true, refuse(malformed, "a second Hello")
	default: // from a newer agent: ignore what cannot be understood
	}
	return false, nil
}

func (s *served) answer(sequence uint64) func(string, int64) {
	return func(coordinator string, generation int64) {
		s.reply(&linkpb.Answer{
			Sequence:    sequence,
			Coordinator: coordinator,
			Generation:  generation,
		})
	}
}

func (s *served) handRoster(signed []byte) {
	if len(signed) == 0 || len(signed) > maxRoster {
		s.hub.log.Error("not sending a roster that no process would accept", "to", s.from,
			"bytes", len(signed))
		return
	}
	s.reply(&linkpb.Answer{Roster: signed})
}

func (s *served) decide(v lease.Response) {
	answer, err := encodeResponse(v, s.hub.stateID, s.hub.incarnation)
	if err != nil {
		s.hub.log.Error("not sending a response that no process would accept", "to", s.from,
			"kind", v.Kind, "error", err)
		return
	}
	s.reply(answer)
}

func (s *served) reply(answer *linkpb.Answer) {
	select {
	case s.answers <- answer:
	default:
	}
}

func (s *served) write() {
	defer close(s.written)
	for !isClosed(s.ended) {
		select {
		case answer := <-s.answers:
			if err := s.stream.Send(answer); err != nil {
				s.end(err)
				return
			}
		case <-s.ended:
		}
	}
}
