package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/identity"
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

// TestTheKernelTellsOfAKilledProcess kills a real process with SIGKILL. The kernel must report its
// end and, when it is dialled again, its absence at once; neither may be found by a timeout.
func TestTheKernelTellsOfAKilledProcess(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a := f.join("a", 1)
	address := f.member("b").Address
	victim := startVictim(t, f, address)
	a.Admit([]Member{f.member("b")})
	a.Link([]string{"b"})
	expect(t, a, Up{"b"})

	began := time.Now()
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	expect(t, a, Down{"b", Closed})
	took := time.Since(began)
	t.Logf("known after %s", took)
	if took > leastPatience {
		t.Errorf("the end of a killed process became known after %s", took)
	}
	victim.Wait()

	a.Link(nil)
	a.Link([]string{"b"})
	expect(t, a, Down{"b", Refused})
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

const victimVariable = "PODESTA_TEST_VICTIM_ADDRESS"

// startVictim runs this test binary again as process b, which gets the authority through a pipe and
// reports when it listens.
func startVictim(t *testing.T, f *loopback, address string) *exec.Cmd {
	t.Helper()
	certPEM, keyPEM, err := f.authority.PEM()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), victimVariable+"="+address)
	victim.Stdin = strings.NewReader(string(certPEM) + "\x00" + string(keyPEM))
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), victimListens) {
			return victim
		}
	}
	t.Fatal("the process to be killed did not start")
	return nil
}

const victimListens = "the victim listens"

// TestVictim is the process that is killed; run alone, it does nothing.
func TestVictim(t *testing.T) {
	address := os.Getenv(victimVariable)
	if address == "" {
		t.Skip("runs as a part of TestTheKernelTellsOfAKilledProcess")
	}
	secret, err := io.ReadAll(os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, keyPEM, _ := bytes.Cut(secret, []byte{0})
	authority, err := identity.ParseAuthority(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	f := newLoopbackOf(t, authority)
	f.addresses["b"] = address
	b := f.join("b", 1)
	b.Admit([]Member{{Name: "a", UID: "uid-a"}})
	fmt.Println(victimListens)
	for range b.Events() { // until it is killed
	}
}
