package transport

import (
	"context"
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// wire is what gRPC and the in-memory network have to provide; what is said over it, and when, is decided above it.
type wire interface {
	// open begins a stream to a process. It blocks until that is done, fails with a loss, or ctx ends. The stream ends with
	// ctx too.
	open(ctx context.Context, to Member) (outbound, error)

	// close ends every stream and lets nobody in any more. It returns when nothing of the wire runs.
	close()
}

// outbound is our end of a stream that we opened. Send and Recv may run at the same time.
type outbound interface {
	Send(*linkpb.Frame) error // blocks while the peer does not read; io.EOF says that Recv knows why it failed
	CloseSend() error         // nothing will follow; the peer reads all that was sent, then ends the stream
	Accepted() error          // blocks until the peer has accepted our Hello
	Certified() (own, peer validity)
	Recv() (*linkpb.Answer, error) // io.EOF when the peer has ended the stream in order
	Close()                        // ends the stream at once
}

// inbound is our end of a stream that a peer opened. Send and Recv may run at the same time.
type inbound interface {
	Recv() (*linkpb.Frame, error)
	Send(*linkpb.Answer) error
	Accept() error
}

// loss is why a stream could not be opened or broke.
type loss struct {
	evidence Evidence
	cause    error
}

func (l *loss) Error() string { return fmt.Sprintf("%s: %v", l.evidence, l.cause) }
func (l *loss) Unwrap() error { return l.cause }

// evidenceOf takes an end in order, and what no wire has explained, for an end by the peer.
func evidenceOf(err error) Evidence {
	if l, ok := errors.AsType[*loss](err); ok {
		return l.evidence
	}
	return Closed
}

// refusal is why a receiver ends a stream. The sender is told.
type refusal struct {
	kind   refusalKind
	reason string
}

type refusalKind int

const (
	malformed refusalKind = iota // a frame that is not allowed
	unwanted                     // the sender is not admitted, or was heard in a newer life
	leaving                      // the receiver said, or is saying, that it leaves
	ending                       // the receiver ends without a word
)

func (r *refusal) Error() string { return r.reason }

func refuse(kind refusalKind, format string, args ...any) error {
	return &refusal{kind: kind, reason: fmt.Sprintf(format, args...)}
}
