package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// lastWord is how long a peer may take to read why its stream ends.
const lastWord = time.Second

// accepted is this process's end of a connection that a peer opened.
type accepted struct {
	raw      net.Conn
	messages *delimited.Stream

	reading sync.Mutex
	over    bool // nothing is received any more; guarded by reading
}

func newAccepted(raw net.Conn, conn *tls.Conn) *accepted {
	return &accepted{raw: raw, messages: delimited.New(conn, maxFrame)}
}

// welcome tells the peer that its certificate is accepted. In TLS 1.3 the client's part of the
// handshake ends before that.
func (a *accepted) welcome() error {
	return a.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Welcome{Welcome: &linkpb.Welcome{}}})
}

func (a *accepted) Accept() error {
	return a.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Accepted{Accepted: &linkpb.Accepted{}}})
}

// Recv takes nothing but an End for the end: whoever is between the two could forge that of the
// connection.
func (a *accepted) Recv() (*linkpb.Frame, error) {
	a.reading.Lock()
	defer a.reading.Unlock()
	if a.over {
		return nil, net.ErrClosed
	}
	frame := new(linkpb.Frame)
	err := a.messages.Receive(frame)
	switch {
	case errors.Is(err, delimited.ErrInvalid):
		return nil, refuse(malformed, "%v", err)
	case err != nil:
		return nil, unexpected(err)
	case frame.GetEnd() != nil:
		return nil, io.EOF
	}
	return frame, nil
}

func (a *accepted) Send(answer *linkpb.Answer) error {
	return a.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Answer{Answer: answer}})
}

// end tells the peer why the stream ends, nil if in order, and waits for it to close the
// connection, for lastWord at most: a kernel that closes a connection on which something is unread
// may take back what it has not delivered yet.
func (a *accepted) end(reason error) {
	a.stopReading()
	ended := &linkpb.Ended{}
	if r, ok := errors.AsType[*refusal](reason); ok {
		ended.Reason, ended.Text = reasonOf[r.kind], r.reason
	} else if reason != nil {
		return // the connection is broken
	}
	//nolint:errcheck // a connection that takes no deadline has ended
	a.raw.SetDeadline(time.Now().Add(lastWord))
	if a.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Ended{Ended: ended}}) == nil {
		_, _ = io.Copy(io.Discard, a.raw)
	}
}

// stopReading returns when nothing is received any more.
func (a *accepted) stopReading() {
	a.raw.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // as below
	a.reading.Lock()
	defer a.reading.Unlock()
	a.over = true
}

var reasonOf = map[refusalKind]linkpb.Ended_Reason{
	malformed: linkpb.Ended_MALFORMED,
	unwanted:  linkpb.Ended_UNWANTED,
	leaving:   linkpb.Ended_LEAVING,
	ending:    linkpb.Ended_STOPPING,
}

// lossOf is what a stream's end says about the peer that ended it; io.EOF if it did so in order.
func lossOf(e *linkpb.Ended) error {
	cause := fmt.Errorf("the process ended the stream: %s", e.GetText())
	switch e.GetReason() {
	case linkpb.Ended_DONE:
		return io.EOF
	case linkpb.Ended_MALFORMED, linkpb.Ended_UNWANTED:
		return &loss{Rejected, cause}
	case linkpb.Ended_LEAVING:
		return &loss{Left, cause}
	default:
		return &loss{Closed, cause}
	}
}
