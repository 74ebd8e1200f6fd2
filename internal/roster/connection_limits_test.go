package roster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
	"github.com/podesta-dev/podesta/test/bubble"
)

// closedWithin reports whether the other end closes the connection while nothing is sent.
func closedWithin(t *testing.T, conn net.Conn, within time.Duration) bool {
	t.Helper()
	must(t, conn.SetReadDeadline(time.Now().Add(within)))
	_, err := conn.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) //nolint:errorlint // as net returns it
	return !ok || !timeout.Timeout()
}

// TestStrangersOfOneAddressAreBounded opens connections that stay silent. Those of pods, and of
// other addresses, are not affected.
func TestStrangersOfOneAddressAreBounded(t *testing.T) {
	m := newManager(t)
	key, cert := issue(t, m.authority, a, time.Now())
	subscription := m.follow(t, key, cert)
	var conns []net.Conn
	for range connlimit.StrangersOfAddress {
		conn, err := net.Dial("tcp", m.address)
		must(t, err)
		defer conn.Close()
		conns = append(conns, conn)
	}
	extra, err := net.Dial("tcp", m.address)
	must(t, err)
	defer extra.Close()
	if !closedWithin(t, extra, patience) {
		t.Fatal("one more connection than allowed stays open")
	}
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	other, err := elsewhere.Dial("tcp", m.address)
	must(t, err)
	defer other.Close()
	keyring := identity.NewKeyring(time.Now)
	must(t, keyring.SetTrust(m.bundle))
	must(t, tls.Client(other, keyring.RosterClient()).HandshakeContext(t.Context()))
	subscription.report(t, &rosterpb.Report{StateId: "m"})
	m.sees(t, "the subscription of before", connected(a.Pod))
	conns[0].Close()
	deadline := time.Now().Add(patience)
	for { // until the manager has noticed
		next, err := net.Dial("tcp", m.address)
		must(t, err)
		defer next.Close()
		if tls.Client(next, keyring.RosterClient()).HandshakeContext(t.Context()) == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the room of one that has gone is never free")
		}
	}
}

// A process that holds a pod's certificate cannot fill the manager with connections.
func TestOfAPodTheNewestConnectionsStay(t *testing.T) {
	m := newManager(t)
	key, cert := issue(t, m.authority, a, time.Now())
	own, err := tls.X509KeyPair(cert, key)
	must(t, err)
	keyring := identity.NewKeyring(time.Now)
	must(t, keyring.SetTrust(m.bundle))
	config := keyring.RosterClient()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &own, nil
	}
	open := func() *tls.Conn {
		conn, err := tls.Dial("tcp", m.address, config)
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		must(t, conn.SetReadDeadline(time.Now().Add(patience)))
		messages := delimited.New(conn, maxUpdateSize)
		must(t, messages.Send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Join{
			Join: &rosterpb.JoinRequest{Token: strings.Repeat("x", maxToken+1)},
		}}))
		must(t, messages.Receive(new(rosterpb.ToAgent))) // the server has accepted the connection
		return conn
	}
	var conns []*tls.Conn
	for range 2 * connlimit.OfPod {
		conns = append(conns, open())
	}
	for i, conn := range conns {
		must(t, conn.SetReadDeadline(time.Now().Add(patience)))
		if i >= connlimit.OfPod {
			must(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		}
		_, err := io.Copy(io.Discard, conn)
		timeout, ok := err.(net.Error) //nolint:errorlint // as tls returns it
		if stays := ok && timeout.Timeout(); stays != (i >= connlimit.OfPod) {
			t.Errorf("connection %d of %d stays: %v (%v)", i+1, len(conns), stays, err)
		}
	}
}

// stuck is an Admission that does not decide on tokens before it is released, like an API server
// that does not answer.
type stuck struct {
	guests
	asked, decide chan struct{}
}

func (s stuck) Admit(ctx context.Context, token string) (identity.Name, error) {
	s.asked <- struct{}{}
	select {
	case <-s.decide:
	case <-ctx.Done():
		return identity.Name{}, ctx.Err()
	}
	return s.guests.Admit(ctx, token)
}

// TestRenewalsDoNotWaitForJoins fills the queue of the joins by token, from all addresses, and
// renews.
func TestRenewalsDoNotWaitForJoins(t *testing.T) {
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	admission := stuck{guests{"a": a}, make(chan struct{}, joinLimits.AtOnce), make(chan struct{})}
	m := startManager(t, authority, "127.0.0.1:0", admission)
	csr := request(t)
	var joins sync.WaitGroup
	for host := range joinLimits.AtOnce / joinLimits.OfSource {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(host+1))}}
		for range joinLimits.OfSource {
			client := m.dialFrom(t, dialer)
			joins.Go(func() {
				if _, err := client.ask(context.Background(), "a", csr); err != nil {
					t.Errorf("one that waited got %v", err)
				}
			})
		}
	}
	for range joinLimits.AtOnce {
		<-admission.asked
	}
	key, cert := issue(t, authority, a, time.Now())
	renewal := m.dial(t, key, cert)
	begun := time.Now()
	if _, err := renewal.ask(t.Context(), "", csr); err != nil ||
		time.Since(begun) > joinQueue {
		t.Errorf("the renewal: %v after %s", err, time.Since(begun))
	}
	late := m.dialFrom(t, net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, 1)}})
	if _, err := late.ask(t.Context(), "a", csr); codeOf(err) != rosterpb.Refusal_BUSY {
		t.Errorf("a join beside %d stuck ones: %v, want to be told to try again",
			joinLimits.AtOnce, err)
	}
	close(admission.decide)
	joins.Wait()
}

// Two Joins beside each other end a connection, and a stranger's ends with the first answer. That of
// an agent may have one after the other.
func TestAConnectionHasOneJoinAtATime(t *testing.T) {
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	admission := stuck{guests{"a": a}, make(chan struct{}, 3), make(chan struct{})}
	m := startManager(t, authority, "127.0.0.1:0", admission)
	eager, honest := m.dial(t, nil, nil), m.dial(t, nil, nil)
	for _, c := range []*caller{eager, eager, honest} {
		must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Join{
			Join: &rosterpb.JoinRequest{Token: "a", Csr: request(t)},
		}}))
	}
	if err := eager.drain(); codeOf(err) != rosterpb.Refusal_BUSY {
		t.Errorf("one with two Joins at a time: %v", err)
	}
	close(admission.decide)
	answer, err := honest.receive(patience)
	if no := answer.GetJoined().GetRefused(); err != nil || no != nil {
		t.Errorf("the other one: %v (%v)", no, err)
	}
	// strangers that say nothing are sent away after strangerWithin
	if answer, err := honest.receive(strangerWithin / 2); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer it stays: %v (%v)", answer, err)
	}
	key, cert := issue(t, authority, a, time.Now())
	agent := m.dial(t, key, cert)
	for range 2 {
		if _, err := agent.ask(t.Context(), "", request(t)); err != nil {
			t.Errorf("a renewal: %v", err)
		}
	}
}

// The answer to a stranger's Join is the last: while it is being sent there is no other Join.
func TestAStrangerJoinsOnce(t *testing.T) {
	m := newManager(t)
	near, far := net.Pipe()
	defer far.Close()
	slow := reluctant{sends: make(chan struct{}, 8), goOn: make(chan struct{})}
	stranger := &accepted{
		server:   m.Server,
		ctx:      t.Context(),
		raw:      near,
		messages: delimited.New(slow, maxMessageSize),
	}
	join := &rosterpb.JoinRequest{Token: "a", Csr: request(t)}
	must(t, stranger.join(join))
	<-slow.sends
	if err := stranger.join(join); codeOf(err) != rosterpb.Refusal_BUSY {
		t.Errorf("a second Join while the first one is answered: %v", err)
	}
	close(slow.goOn)
}

// reluctant takes what is written only when it may go on.
type reluctant struct {
	io.Reader
	sends, goOn chan struct{}
}

func (r reluctant) Write(b []byte) (int, error) {
	r.sends <- struct{}{}
	<-r.goOn
	return len(b), nil
}

// A stranger's report is not read: a small one can be large in memory.
func TestAStrangersReportIsNotRead(t *testing.T) {
	m := newManager(t)
	report := &rosterpb.Report{Table: make([]*rosterpb.Row, strangerBytes/4)}
	for i := range report.GetTable() {
		report.GetTable()[i] = new(rosterpb.Row)
	}
	bytes, err := proto.Marshal(&rosterpb.ToManager{Message: &rosterpb.ToManager_Report{Report: report}})
	must(t, err)
	c := m.dial(t, nil, nil)
	must(t, c.failed)
	unread := new(rosterpb.ToManager)
	unread.ProtoReflect().SetUnknown(bytes)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must(t, c.send(unread))
	err = c.drain()
	runtime.ReadMemStats(&after)
	if codeOf(err) != rosterpb.Refusal_UNAUTHENTICATED {
		t.Errorf("it is told %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 10*uint64(len(bytes)) {
		t.Errorf("it took %d bytes for %d", took, len(bytes))
	}
}

// A pod that renews all the time is limited, and other pods are not.
func TestAPodThatRenewsAllTheTimeIsStopped(t *testing.T) {
	m := newManager(t)
	csr := request(t)
	renew := func(n identity.Name) func() error {
		key, cert := issue(t, m.authority, n, time.Now())
		client := m.dial(t, key, cert)
		return func() error {
			_, err := client.ask(t.Context(), "", csr)
			return err
		}
	}
	greedy, modest := renew(a), renew(b)
	for i := range renewalLimits.Burst {
		if err := greedy(); err != nil {
			t.Fatalf("renewal %d: %v", i+1, err)
		}
	}
	if err := greedy(); codeOf(err) != rosterpb.Refusal_BUSY {
		t.Errorf("renewal %d: %v, want to be refused", renewalLimits.Burst+1, err)
	}
	must(t, modest())
}

// A process that says more than its share is read more slowly, and is not sent away. It gains
// nothing by connecting again.
func TestAPodThatTalksAllTheTimeIsReadSlowly(t *testing.T) {
	const more = messagesPerSecond / 2
	for what, connections := range map[string]int{"on one connection": 1, "on one after the other": 5} {
		t.Run(what, func(t *testing.T) {
			m := newManager(t)
			key, cert := issue(t, m.authority, a, time.Now())
			begun := time.Now()
			for range connections {
				talk(t, m.dial(t, key, cert), (messagesAtOnce+more)/connections)
			}
			if took, least := time.Since(begun), more*time.Second/messagesPerSecond; took < least {
				t.Errorf("all was read within %v, want %v at least", took, least)
			}
		})
	}
}

// talk says something so many times, until all is answered, and hangs up.
func talk(t *testing.T, c *caller, times int) {
	t.Helper()
	defer c.close()
	must(t, c.begin())
	for range times {
		must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Ping{Ping: &rosterpb.Ping{}}}))
	}
	for answered := 0; answered < times; {
		message, err := c.receive(patience)
		must(t, err)
		if message.GetPong() != nil {
			answered++
		}
	}
}

// A pod that has been quiet is forgotten, and one that has not, or has come back, is not.
func TestAPodsPaceIsForgotten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := paces{of: map[string]*pace{}}
		first := p.begin("a")
		p.begin("b")
		p.end("a")
		if again := p.begin("a"); again != first {
			t.Error("who comes back at once may say as much as one that is new")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.of) != 2 {
			t.Errorf("%d pods are connected, want 2", len(p.of))
		}
		p.end("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.of) != 1 {
			t.Errorf("%d pods are remembered, and one is connected", len(p.of))
		}
	})
}

// TestWhatIsSignedEndsADayAfterThePodWasSeen: R5 of docs/reference/lease.md counts on it. The pod
// is deleted while its admission hangs.
func TestWhatIsSignedEndsADayAfterThePodWasSeen(t *testing.T) {
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	admission := stuck{guests{"a": a}, make(chan struct{}, 1), make(chan struct{})}
	var mu sync.Mutex
	var passed time.Duration
	m := startManager(t, authority, "127.0.0.1:0", admission, func(c *ServerConfig) {
		c.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(passed)
		}
	})
	seen := make(chan time.Time, 1)
	go func() {
		<-admission.asked
		seen <- time.Now()
		mu.Lock()
		passed = time.Hour // the manager stands still for this long
		mu.Unlock()
		close(admission.decide)
	}()
	granted, err := m.dial(t, nil, nil).ask(t.Context(), "a", request(t))
	must(t, err)
	leaf := parse(t, granted.GetCertificate())
	if last := (<-seen).Add(identity.Lifetime); leaf.NotAfter.After(last) {
		t.Errorf("the certificate ends at %s, want at %s at the latest", leaf.NotAfter,
			fmt.Sprint(last))
	}
}
