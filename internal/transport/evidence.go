package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// loss is why a stream could not be opened, or why it broke.
type loss struct {
	evidence Evidence
	cause    error
	// the attempt had a connection, though no stream
	connected bool
	ended     *linkpb.Ended // what the peer said; nil: nothing
}

func rejected(cause error) error { return &loss{evidence: Rejected, cause: cause} }

func (l *loss) Error() string { return fmt.Sprintf("%s: %v", l.evidence, l.cause) }
func (l *loss) Unwrap() error { return l.cause }

// evidenceOf returns the evidence of a loss. An end in order, and any error that no wire has
// explained, count as an end by the peer.
func evidenceOf(err error) Evidence {
	if l, ok := errors.AsType[*loss](err); ok {
		return l.evidence
	}
	return Closed
}

// endedOf returns what a peer said when it ended a stream; nil: nothing.
func endedOf(err error) *linkpb.Ended {
	if l, ok := errors.AsType[*loss](err); ok {
		return l.ended
	}
	return nil
}

// lossOf is what a stream's end says about the peer that ended it; io.EOF if it did so in order.
func lossOf(e *linkpb.Ended) error {
	cause := fmt.Errorf("the process ended the stream: %s", e.GetText())
	switch e.GetReason() {
	case linkpb.Ended_DONE:
		return io.EOF
	case linkpb.Ended_MALFORMED, linkpb.Ended_UNWANTED:
		return &loss{evidence: Rejected, cause: cause, ended: e}
	case linkpb.Ended_LEAVING:
		return &loss{evidence: Left, cause: cause, ended: e}
	default:
		return &loss{evidence: Closed, cause: cause, ended: e}
	}
}

// refusal is why a receiver ends a stream. The sender is told.
type refusal struct {
	kind      refusalKind
	reason    string
	later     *linkpb.Start // of unwanted: the later incarnation of the sender; nil: there is none
	laterRuns bool
	file      *RosterFile // of unwanted: the receiver's, if it differs from the sender's; else nil
}

type refusalKind int

const (
	malformed refusalKind = iota // an invalid frame
	unwanted                     // the sender is not admitted, or its Hello is not accepted
	leaving                      // the receiver has left or is leaving
)

var reasonOf = map[refusalKind]linkpb.Ended_Reason{
	malformed: linkpb.Ended_MALFORMED,
	unwanted:  linkpb.Ended_UNWANTED,
	leaving:   linkpb.Ended_LEAVING,
}

func (r *refusal) Error() string { return r.reason }

func refuse(kind refusalKind, format string, args ...any) error {
	return &refusal{kind: kind, reason: fmt.Sprintf(format, args...)}
}

// unexpected keeps a connection that ends without an Ended or an End apart from an end in order.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lost adds the evidence to an error of the network, or of the protocol.
func lost(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, new(*loss)) {
		return err
	}
	return &loss{evidence: whyNetwork(err, Rejected), cause: err}
}

// whyNetwork returns the evidence of a network error, or otherwise for any other error.
func whyNetwork(err error, otherwise Evidence) Evidence {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET,
		syscall.ECONNABORTED, syscall.EPIPE):
		return Closed
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, context.Canceled), errors.As(err,
		&timeout) && timeout.Timeout():
		return Unreachable
	default:
		return otherwise
	}
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
