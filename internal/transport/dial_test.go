package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/test/bubble"
)

func TestEvidenceInAnErrorOfTheNetwork(t *testing.T) {
	wrapped := func(err error) error {
		return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}
	}
	for _, tc := range []struct {
		err  error
		want Evidence
	}{
		{wrapped(syscall.ECONNREFUSED), Refused},
		{wrapped(syscall.ECONNRESET), Closed},
		{wrapped(syscall.EPIPE), Closed},
		{io.EOF, Closed},
		{net.ErrClosed, Closed},
		{wrapped(syscall.ETIMEDOUT), Unreachable},
		{wrapped(syscall.EHOSTUNREACH), Unreachable},
		{wrapped(syscall.ENETUNREACH), Unreachable},
		{&net.DNSError{IsTimeout: true}, Unreachable},
		{context.Canceled, Unreachable},
		{context.DeadlineExceeded, Unreachable},
		{errors.New("tls: bad certificate"), Rejected}, // the caller decides what else it can be
	} {
		if got := whyNetwork(tc.err, Rejected); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}

// TestAnAddressWhereNobodyAnswersIsUnreachable connects to a listener that never sends anything.
func TestAnAddressWhereNobodyAnswersIsUnreachable(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	mute := f.listen("127.0.0.1:0")
	defer mute.Close()
	a := f.join("a", 1)
	a.Admit([]Member{{Name: "b", UID: "uid-b", Address: mute.Addr().String()}})
	a.Link([]string{"b"})
	expect(t, a, Down{"b", Unreachable})
}

// TestCloseDoesNotWaitForAClientThatSaysNothing connects and never starts the handshake.
func TestCloseDoesNotWaitForAClientThatSaysNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	a := f.join("a", 1)
	mute, err := net.Dial("tcp", f.member("a").Address)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	began := time.Now()
	a.Close()
	if took := time.Since(began); took > handshakeMax/2 {
		t.Errorf("Close took %s", took)
	}
}

// mute is a connection that takes nothing.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestAWriteThatFailsEndsTheStream: the peer may know nothing of it, and say nothing.
func TestAWriteThatFailsEndsTheStream(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := newConnection(t.Context(), near, mute{near}, maxReply)
		defer c.Close()
		if c.sendFrame(leavingFrame()) == nil {
			t.Error("it was sent")
		}
		if _, err := c.receiveReply(); evidenceOf(err) != Unreachable {
			t.Errorf("received %v, want that the peer is unreachable", err)
		}
	})
}
