// Package delimited carries protobuf messages on a connection, each behind its length: four bytes,
// the most significant first.
//
// What a peer can make this end keep is bounded. A message that is longer than the limit is refused
// before any of it is read, and memory is taken for what has arrived, not for what was announced. A
// message of more fields than any has is refused before it is decoded, because an empty one of two
// bytes takes forty times as many. A stream that waits has no buffer. There is no flow control but
// the connection's own: a sender waits while the receiver does not read.
package delimited

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
)

// ErrInvalid is what Receive returns for a message that is longer than the limit, or is none.
// Nothing can be received after it.
var ErrInvalid = errors.New("invalid message")

const (
	prefix = 4       // bytes
	small  = 1 << 10 // bytes; nearly all messages are shorter, and a buffer of this size is kept
	// deepest is how many messages a message may be in
	deepest = 32
)

// Stream sends and receives messages. Any number of goroutines may send; one may receive.
type Stream struct {
	conn   io.ReadWriter
	limit  int
	length [prefix]byte // of what is being received
	begun  bool         // length is that of the next message
	sends  sync.Mutex   // messages do not mix
}

// New returns a stream that receives messages of at most limit bytes.
func New(conn io.ReadWriter, limit int) *Stream { return &Stream{conn: conn, limit: limit} }

// Send writes a message by one Write.
func (s *Stream) Send(m proto.Message) error {
	buffer := take()
	defer give(buffer)
	var err error
	*buffer, err = proto.MarshalOptions{}.MarshalAppend(append(*buffer, make([]byte, prefix)...), m)
	if err != nil {
		return err
	}
	//nolint:gosec // no message is nearly as long as 4 GiB
	binary.BigEndian.PutUint32(*buffer, uint32(len(*buffer)-prefix))
	s.sends.Lock()
	defer s.sends.Unlock()
	_, err = s.conn.Write(*buffer)
	return err
}

// Await waits until the next message comes; Receive reads it then. It fails as Receive does.
// Waiting needs far less stack than reading a message.
func (s *Stream) Await() error {
	if s.begun {
		return nil
	}
	_, err := io.ReadFull(s.conn, s.length[:])
	s.begun = err == nil
	return err
}

// Receive reads the next message into m, without the fields that m does not know. It returns io.EOF
// if the connection ends after a whole message, and io.ErrUnexpectedEOF if it ends within one.
func (s *Stream) Receive(m proto.Message) error {
	if err := s.Await(); err != nil {
		return err
	}
	s.begun = false
	length := int64(binary.BigEndian.Uint32(s.length[:]))
	if length > int64(s.limit) {
		return fmt.Errorf("%w: %d bytes, where %d are allowed", ErrInvalid, length, s.limit)
	}
	buffer := take()
	defer give(buffer)
	if err := fill(buffer, s.conn, int(length)); err != nil {
		return err
	}
	if length > small && exceeds(*buffer, m.ProtoReflect().Descriptor()) {
		return fmt.Errorf("%w: more than %d fields", ErrInvalid, mostFields)
	}
	if err := reading.Unmarshal(*buffer, m); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// Messages in messages cost stack.
var reading = proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: deepest}

// fill reads length bytes into an empty buffer, which grows with what arrives.
func fill(buffer *[]byte, from io.Reader, length int) error {
	for len(*buffer) < length {
		b := slices.Grow(*buffer, min(length-len(*buffer), max(len(*buffer), small)))
		n, err := io.ReadFull(from, b[len(b):min(cap(b), length)])
		*buffer = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, small)) }}

func take() *[]byte {
	b := buffers.Get().(*[]byte) //nolint:forcetypeassert // give puts nothing else there
	*b = (*b)[:0]
	return b
}

func give(b *[]byte) {
	if cap(*b) <= small {
		buffers.Put(b)
	}
}
