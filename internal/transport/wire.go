package transport

import (
	"context"
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// wire is what TLS and the in-memory network provide. The code above it decides what is sent, and
// when.
type wire interface {
	// open opens a stream to a process. It blocks until the stream is open, fails with a loss, or
	// ctx ends. The stream also ends with ctx.
	open(ctx context.Context, to Member) (outbound, error)

	// share opens a stream to a process on a connection on which that process has a stream to this
	// one. It fails at once with errNotShared if there is none. The stream also ends with ctx, and
	// the other one goes on.
	share(ctx context.Context, to Member) (outbound, error)

	// close ends every stream and accepts no new ones.
	close()
}

// outbound is this process's end of a stream that it opened. Send and Recv may run at the same
// time.
type outbound interface {
	// blocks while the peer does not read; io.EOF means that Recv returns the reason, soon
	Send(*linkpb.Frame) error
	// ends this direction; the peer reads everything that was sent, then ends the stream
	CloseSend() error
	Accepted() error // blocks until the peer has accepted the Hello
	Certified() (own, peer validity)
	Recv() (*linkpb.Answer, error) // io.EOF if the peer ended the stream in order
	Close()                        // ends the stream at once
}

var errNotShared = errors.New("there is no connection that could be shared")

// inbound is this process's end of a stream that a peer opened. Send and Recv may run at the same
// time.
type inbound interface {
	Recv() (*linkpb.Frame, error)
	Send(*linkpb.Answer) error
	Accept() error
}

// refusal is why a receiver ends a stream. The sender is told.
type refusal struct {
	kind   refusalKind
	reason string
}

type refusalKind int

const (
	malformed refusalKind = iota // an invalid frame
	unwanted                     // the sender is not admitted, or has a newer incarnation
	leaving                      // the receiver has left or is leaving
	ending                       // the receiver stops without notice
)

var reasonOf = map[refusalKind]linkpb.Ended_Reason{
	malformed: linkpb.Ended_MALFORMED,
	unwanted:  linkpb.Ended_UNWANTED,
	leaving:   linkpb.Ended_LEAVING,
	ending:    linkpb.Ended_STOPPING,
}

func (r *refusal) Error() string { return r.reason }

func refuse(kind refusalKind, format string, args ...any) error {
	return &refusal{kind: kind, reason: fmt.Sprintf(format, args...)}
}
