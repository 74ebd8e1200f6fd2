package transport

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// repliesAhead is how many replies may wait for a peer. A peer that sends more questions without
// reading gets no answers to the rest.
const repliesAhead = 16

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// served is this end of a stream that a peer opened. One goroutine reads, and one writes.
type served struct {
	hub         *hub
	from, uid   string
	incarnation uint64 // known after the Hello, as are start, stateID and succeeds
	start       *linkpb.Start
	stateID     string
	succeeds    bool // the previous stream ends in order, and what arrives on it comes first
	stream      *connection
	replies     chan *linkpb.Reply // a stream that succeeds another uses the channel of that one
	done        chan struct{}      // closed when nothing more is emitted by this stream
	writing     bool               // write was started
	written     chan struct{}      // closed when no more replies are written to its stream
	// succeeds this stream and waits for its end; guarded by the hub's mutex
	next *served
	// the incarnation that the sender was told of as its rival; guarded by the hub's mutex
	rival uint64

	once   sync.Once
	ended  chan struct{}
	reason error // nil if it ended in order; valid once ended is closed
}

// serve receives a stream of the process that the certificate names, until it ends. Then it tells
// the peer why.
func (h *hub) serve(from, uid string, stream *connection) {
	s := &served{
		hub:     h,
		from:    from,
		uid:     uid,
		stream:  stream,
		replies: make(chan *linkpb.Reply, repliesAhead),
		done:    make(chan struct{}),
		written: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	defer stream.Close()
	if expiry := stream.peer.untilOver(s.expire); expiry != nil {
		defer expiry.Stop()
	}
	s.end(s.receive())
	h.forget(s)
	close(s.done)
	h.log.Debug("stream ended", "from", from, "reason", s.reason)
	s.finish()
}

// finish tells the peer why the stream has ended, unless it is broken. Before that, it waits until
// the reply that is being written is with the kernel.
func (s *served) finish() {
	refused, isRefusal := errors.AsType[*refusal](s.reason)
	within := lastWord
	if s.reason == nil {
		within = s.hub.patience()
	} else if !isRefusal {
		within = 0 // it is broken
	}
	s.stream.SetDeadline(time.Now().Add(within)) //nolint:errcheck // then it is broken
	if s.writing {
		<-s.written
	} else {
		close(s.written)
	}
	if within > 0 {
		s.stream.sayEnded(refused)
	}
}

func (s *served) expire() { s.end(refuse(unwanted, "the certificate of %s has expired", s.from)) }

// end ends the stream: serve reads nothing more, and tells the peer the reason. Only the first call
// counts.
func (s *served) end(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.ended)
		//nolint:errcheck // a connection that takes no deadline has ended
		s.stream.SetReadDeadline(past)
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

// receive handles the frames of the stream until it ends. It returns nil if the peer ended it in
// order.
func (s *served) receive() error {
	hello, err := s.hello()
	if err != nil {
		return err
	}
	s.start, s.stateID, s.succeeds = hello.GetStart(), hello.GetStateId(), hello.GetSucceeds()
	s.incarnation = s.start.GetIncarnation()
	if err := s.hub.compare(s.from, hello.GetRosterFile()); err != nil {
		return err
	}
	before, err := s.hub.register(s)
	if err != nil {
		return err
	}
	if err := s.begin(before); err != nil {
		return err
	}
	if s.writing = s.hub.start(s.write); !s.writing {
		return net.ErrClosed
	}
	for {
		frame, err := s.stream.receiveFrame()
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

// hello waits for the first frame, which must be a Hello, for some time.
func (s *served) hello() (*linkpb.Hello, error) {
	enough := halfOpen(s.hub.patience())
	late := time.AfterFunc(enough, func() {
		s.end(refuse(malformed, "no Hello arrived within %s", enough))
	})
	defer late.Stop()
	frame, err := s.stream.receiveFrame()
	if err != nil {
		return nil, err
	}
	hello := frame.GetHello()
	if hello == nil {
		return nil, refuse(malformed, "the first frame must be a Hello")
	}
	if err := validateHello(hello); err != nil {
		return nil, refuse(malformed, "%v", err)
	}
	return hello, nil
}

// begin accepts the stream and waits until the stream before it, if any, has ended. A stream that
// succeeds another one is accepted first, because only then does the peer end the other one.
func (s *served) begin(before *served) error {
	if before != nil && !s.succeeds {
		<-before.done // soon, because it was told to end
	}
	if err := s.stream.accept(s.hub.file); err != nil {
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
	if s.stream.peer.over() {
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
		s.reply(&linkpb.Reply{Reply: &linkpb.Reply_Answer{Answer: &linkpb.Answer{
			Sequence:    sequence,
			Coordinator: coordinator,
			Generation:  generation,
		}}})
	}
}

func (s *served) handRoster(signed []byte) {
	if len(signed) == 0 || len(signed) > maxRoster {
		s.hub.log.Error("not sending a roster that no process would accept", "to", s.from,
			"bytes", len(signed))
		return
	}
	s.reply(&linkpb.Reply{Reply: &linkpb.Reply_Roster{Roster: signed}})
}

func (s *served) decide(v lease.Response) {
	reply, err := encodeResponse(v, s.hub.stateID, s.hub.incarnation)
	if err != nil {
		s.hub.log.Error("not sending a response that no process would accept", "to", s.from,
			"kind", v.Kind, "error", err)
		return
	}
	s.reply(reply)
}

func (s *served) reply(reply *linkpb.Reply) {
	select {
	case s.replies <- reply:
	default:
	}
}

func (s *served) write() {
	defer close(s.written)
	for !isClosed(s.ended) {
		select {
		case reply := <-s.replies:
			if err := s.stream.messages.Send(reply); err != nil {
				s.end(err)
				return
			}
		case <-s.ended:
		}
	}
}
