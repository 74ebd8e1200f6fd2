package transport

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// answersAhead bounds the answers that wait for a peer; a peer that asks more without reading gets none for the rest.
const answersAhead = 16

// session hears one stream that a peer opened. Three goroutines: serve waits for whatever ends it first, because only its
// return ends the stream; read and write are blocked in the wire.
type session struct {
	hub         *hub
	from, uid   string
	incarnation uint64 // known after the Hello
	stream      inbound
	answers     chan *linkpb.Answer
	silent      *time.Timer   // ends a session that does not say Hello
	done        chan struct{} // closed when nothing more comes from this session

	once   sync.Once
	ended  chan struct{}
	reason error // nil for an end in order; readable after ended
}

// serve hears a stream of the process that the certificate names. The error is what the peer is told.
func (h *hub) serve(from, uid string, stream inbound) error {
	s := &session{
		hub:     h,
		from:    from,
		uid:     uid,
		stream:  stream,
		answers: make(chan *linkpb.Answer, answersAhead),
		done:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	enough := halfOpen(h.patience)
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
	}
	return s.reason
}

// end ends the session; the first reason counts.
func (s *session) end(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.ended)
	})
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
	s.incarnation = hello.GetIncarnation()
	before, err := s.hub.hear(s)
	if err != nil {
		return err
	}
	if before != nil {
		<-before
	}
	if err := s.stream.Accept(); err != nil {
		return err
	}
	s.hub.start(s.write)
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

// take makes an event of a frame. over: the peer will say nothing more.
func (s *session) take(frame *linkpb.Frame) (over bool, err error) {
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
	return func(coordinator string) {
		select {
		case s.answers <- &linkpb.Answer{Sequence: sequence, Coordinator: coordinator}:
		default:
		}
	}
}

func (s *session) write() {
	for {
		select {
		case answer := <-s.answers:
			if err := s.stream.Send(answer); err != nil {
				s.end(err)
				return
			}
		case <-s.ended:
			return
		}
	}
}
