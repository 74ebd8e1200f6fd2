package transport

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// answersAhead bounds the answers that wait for a peer; a peer that asks more without reading gets none for the rest.
const answersAhead = 16

// session hears one stream that a peer opened. Three goroutines: serve waits for whatever ends it first, because only its
// return ends the stream; read and write are blocked in the wire.
type session struct {
	hub         *hub
	from, uid   string
	certified   validity // of the certificate that it was opened with
	incarnation uint64   // known after the Hello, as are memory and succeeds
	memory      string
	succeeds    bool // the session before it ends in order: what the peer said there comes first
	stream      inbound
	answers     chan *linkpb.Answer // a session that succeeds has the one of the session before it
	silent      *time.Timer         // ends a session that does not say Hello
	done        chan struct{}       // closed when nothing more comes from this session
	written     chan struct{}       // closed when nothing more is answered on its stream
	next        *session            // that succeeds it, and waits for its end; guarded by the hub's mutex

	once   sync.Once
	ended  chan struct{}
	reason error // nil for an end in order; readable after ended
}

// serve hears a stream of the process that the certificate names. The error is what the peer is told.
func (h *hub) serve(from, uid string, certified validity, stream inbound) error {
	s := &session{
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
	s.silent = time.AfterFunc(enough, func() { s.end(refuse(malformed, "no Hello came in %s", enough)) })
	defer s.silent.Stop()
	if !h.start(s.read) {
		return refuse(ending, "%s ends", h.self)
	}
	select {
	case <-s.ended:
	case <-h.ctx.Done():
		s.end(refuse(ending, "%s ends", h.self))
	}
	if s.reason != nil {
		h.log.Debug("stream ended", "from", from, "reason", s.reason)
		return s.reason
	}
	s.finish()
	return nil
}

// finish lets the answer that is being written arrive, if the peer reads it.
func (s *session) finish() {
	enough := time.NewTimer(s.hub.patience())
	defer enough.Stop()
	select {
	case <-s.written:
	case <-enough.C:
	case <-s.hub.ctx.Done():
	}
}

func (s *session) expire() { s.end(refuse(unwanted, "the certificate of %s has ended", s.from)) }

// end ends the session; the first reason counts.
func (s *session) end(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.ended)
	})
}

// endAll ends the session and the one that waits for its end. The hub's mutex is held.
func (s *session) endAll(reason error) {
	s.end(reason)
	if s.next != nil {
		s.next.end(reason)
	}
}

// isOfLife says whether the two are of one life of a process.
func (s *session) isOfLife(other *session) bool {
	return s.uid == other.uid && s.incarnation == other.incarnation && s.memory == other.memory
}

// outlives says whether s goes on when its sender opens another stream: that one would be of an older life of the process.
func (s *session) outlives(other *session) bool {
	return s.uid == other.uid && s.incarnation > other.incarnation && !isClosed(s.ended)
}

func (s *session) read() {
	defer close(s.done)
	defer s.hub.forget(s)
	s.end(s.hear())
}

// hear takes the frames of the stream until it is over.
func (s *session) hear() error {
	frame, err := s.stream.Recv()
	if err != nil {
		return err
	}
	s.silent.Stop()
	hello := frame.GetHello()
	if hello == nil {
		return refuse(malformed, "the first frame must be a Hello")
	}
	if err := validateMemory(hello.GetStateId()); err != nil {
		return refuse(malformed, "%v", err)
	}
	s.incarnation, s.memory, s.succeeds = hello.GetIncarnation(), hello.GetStateId(), hello.GetSucceeds()
	before, err := s.hub.hear(s)
	if err != nil {
		return err
	}
	if err := s.begin(before); err != nil {
		return err
	}
	if !s.hub.start(s.write) {
		return refuse(ending, "%s ends", s.hub.self)
	}
	for {
		frame, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if over, err := s.take(frame); over || err != nil {
			return err
		}
	}
}

// begin accepts the stream and waits until the session before it, if any, has said its last. A stream that succeeds another
// is accepted first: only then will the peer end that one.
func (s *session) begin(before *session) error {
	switch {
	case before == nil:
		return s.stream.Accept()
	case !s.succeeds:
		<-before.done // soon, for it was told to end
		return s.stream.Accept()
	}
	if err := s.stream.Accept(); err != nil {
		return err
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

// take makes an event of a frame. over: the peer will say nothing more.
func (s *session) take(frame *linkpb.Frame) (over bool, err error) {
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
			Message:     m,
		})
	case *linkpb.Frame_Ask:
		s.hub.emit(s.ended, Asked{From: s.from, Incarnation: s.incarnation, Answer: s.answer(f.Ask.GetSequence())})
	case *linkpb.Frame_LeaseRequest:
		p, known, err := decodeRequest(f.LeaseRequest)
		if err != nil {
			return true, refuse(malformed, "%v", err)
		}
		if known {
			s.hub.emit(s.ended, LeaseRequested{
				From:        s.from,
				Incarnation: s.incarnation,
				StateID:     s.memory,
				Request:     p,
				Answer:      s.decide,
			})
		}
	case *linkpb.Frame_Leaving:
		s.hub.left(s.from)
		return true, nil
	case *linkpb.Frame_Hello:
		return true, refuse(malformed, "a second Hello")
	default: // a newer agent's: what cannot be understood is passed over
	}
	return false, nil
}

func (s *session) answer(sequence uint64) func(string) {
	return func(coordinator string) { s.reply(&linkpb.Answer{Sequence: sequence, Coordinator: coordinator}) }
}

func (s *session) decide(v lease.Response) {
	answer, err := encodeResponse(v, s.hub.memory, s.hub.incarnation)
	if err != nil {
		s.hub.log.Error("not sending a response that no process would accept", "to", s.from, "kind", v.Kind, "error", err)
		return
	}
	s.reply(answer)
}

func (s *session) reply(answer *linkpb.Answer) {
	select {
	case s.answers <- answer:
	default:
	}
}

func (s *session) write() {
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
