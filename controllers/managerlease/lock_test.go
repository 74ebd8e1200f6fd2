package managerlease

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 2 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// leases is an API server's, in memory.
func leases() coordinationv1client.LeasesGetter { return fake.NewClientset().CoordinationV1() }

// lockOf is the lock of a manager.
func lockOf(client coordinationv1client.LeasesGetter, self Holder, inPod bool) *Lock {
	return &Lock{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "podesta-system", Name: "podesta-manager"},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: self.String()},
		},
		self:        self,
		inPod:       inPod,
		renewWithin: time.Hour,
		logger:      slog.New(slog.DiscardHandler),
	}
}

// hold has a manager hold a Lease that does not expire during a test.
func hold(t *testing.T, client coordinationv1client.LeasesGetter, h Holder) *Lock {
	t.Helper()
	l := lockOf(client, h, true)
	must(t, l.Create(t.Context(), resourcelock.LeaderElectionRecord{
		HolderIdentity:       h.String(),
		LeaseDurationSeconds: 3600,
		AcquireTime:          metav1.Now(),
		RenewTime:            metav1.Now(),
	}))
	return l
}

// leads has a manager wait for the Lease, and returns what is closed when it leads.
func leads(t *testing.T, l *Lock) <-chan struct{} {
	t.Helper()
	begun := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          l,
		LeaseDuration: time.Hour,
		RenewDeadline: time.Minute,
		RetryPeriod:   20 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(begun) },
			OnStoppedLeading: func() {},
		},
	})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		elector.Run(ctx)
		close(over)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return begun
}

func within(t *testing.T, event <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
}

// not fails if an event happens within some redials.
func not(t *testing.T, event <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-event:
		t.Fatal(what)
	case <-time.After(6 * redialAfter):
	}
}

// port is where a holder listens for agents. It takes each connection, and keeps it.
type port struct {
	net.Listener
	taken chan net.Conn
}

func listen(t *testing.T) *port {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	p := &port{Listener: listener, taken: make(chan net.Conn, 16)}
	var taking sync.WaitGroup
	taking.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.taken <- conn
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		taking.Wait()
		for range len(p.taken) {
			_ = (<-p.taken).Close()
		}
	})
	return p
}

// next is the next connection.
func (p *port) next(t *testing.T) net.Conn {
	t.Helper()
	select {
	case conn := <-p.taken:
		return conn
	case <-time.After(patience):
		t.Fatal("nobody connects")
		return nil
	}
}

var second = Holder{Pod: "manager-1", Address: "127.0.0.1:1", Run: "b"}

// A manager that waits takes the Lease of one that was killed. Connections that the holder closes,
// as it does with strangers, mean nothing.
func TestAHolderThatEndsIsFollowedAtOnce(t *testing.T) {
	client, agents := leases(), listen(t)
	hold(t, client, Holder{Pod: "manager-0", Address: agents.Addr().String(), Run: "a"})
	begun := leads(t, lockOf(client, second, true))
	for range 3 {
		must(t, agents.next(t).Close())
	}
	last := agents.next(t)
	not(t, begun, "it leads beside a manager that listens")
	must(t, agents.Close()) // killed: the kernel closes everything
	must(t, last.Close())
	within(t, begun, "it waits for the Lease to expire")
}

// A manager that is not connected to the holder does not judge it: something between them may
// refuse connections, or the holder has yet to listen.
func TestWhoWasNeverConnectedWaits(t *testing.T) {
	client, agents := leases(), listen(t)
	must(t, agents.Close())
	hold(t, client, Holder{Pod: "manager-0", Address: agents.Addr().String(), Run: "a"})
	not(t, leads(t, lockOf(client, second, true)), "it leads beside a manager that it cannot reach")
}

// A manager follows its own pod's earlier process at once; where names are those of hosts, another
// process of the host may hold the Lease.
func TestTheEarlierProcessOfAPodHasEnded(t *testing.T) {
	for _, inPod := range []bool{true, false} {
		client := leases()
		hold(t, client, Holder{Pod: second.Pod, Address: "127.0.0.1:1", Run: "a"})
		begun := leads(t, lockOf(client, second, inPod))
		if inPod {
			within(t, begun, "it waits for itself")
			continue
		}
		not(t, begun, "it leads beside another process of its host")
	}
}

// A manager of another release, or another operator, names itself otherwise, and is waited for.
func TestAHolderWithoutAnAddress(t *testing.T) {
	client := leases()
	hold(t, client, Holder{Pod: "manager-0", Run: "a"})
	not(t, leads(t, lockOf(client, second, true)), "it leads beside a manager that it does not know")
}

// A manager that ends gives back its own Lease only.
func TestALeaseThatWasTakenIsNotGivenBack(t *testing.T) {
	client := leases()
	first := hold(t, client, Holder{Pod: "manager-0", Address: "127.0.0.1:1", Run: "a"})
	other := lockOf(client, second, true)
	record, _, err := other.Get(t.Context())
	must(t, err)
	record.HolderIdentity = other.Identity()
	must(t, other.Update(t.Context(), *record))

	give := func(l *Lock) string {
		t.Helper()
		record, _, err := l.Get(t.Context())
		must(t, err)
		record.HolderIdentity = ""
		must(t, l.Update(t.Context(), *record))
		now, _, err := l.LeaseLock.Get(t.Context())
		must(t, err)
		return now.HolderIdentity
	}
	if holder := give(first); holder != other.Identity() {
		t.Errorf("the holder is %q after another has given it back", holder)
	}
	if holder := give(other); holder != "" {
		t.Errorf("the holder is %q after it has given it back", holder)
	}
}

func TestHoldersAreReadAsTheyAreWritten(t *testing.T) {
	for _, h := range []Holder{
		{Pod: "podesta-manager-6f7c9-x2x4z", Address: "10.244.1.7:9443", Run: "5c1d"},
		{Pod: "podesta-manager-6f7c9-x2x4z", Address: "[fd00::7]:9443", Run: "5c1d"},
		{Pod: "podesta-manager-6f7c9-x2x4z", Run: "5c1d"},
		{Pod: "my_host", Run: "5c1d"},
		{Pod: "my_host", Address: "10.244.1.7:9443", Run: "5c1d"},
	} {
		if got := holderOf(h.String()); got != h {
			t.Errorf("%s is read as %+v", h, got)
		}
	}
	if got := holderOf("somebody"); got.Address != "" || got.Pod != "somebody" {
		t.Errorf("somebody is read as %+v", got)
	}
}

// A manager that has led judges nobody. Whoever has taken its Lease may be its own pod's later
// process, or end a moment later: it must end itself, since it is not the one that others were told
// of any more.
func TestWhoHasLedTakesNothingBack(t *testing.T) {
	client := leases()
	first := hold(t, client, Holder{Pod: second.Pod, Address: "127.0.0.1:2", Run: "a"})
	later := lockOf(client, second, true)
	record, _, err := later.Get(t.Context())
	must(t, err)
	record.HolderIdentity = later.Identity()
	must(t, later.Update(t.Context(), *record))
	record, _, err = first.Get(t.Context())
	must(t, err)
	if record.HolderIdentity != later.Identity() {
		t.Errorf("it finds that %q holds the Lease, want the one that took it", record.HolderIdentity)
	}
}

// A manager that could not renew its Lease in time does not ask again. client-go would have it give
// the Lease back before it ends, which takes a request, and so the time for which an API server is
// silent.
func TestWhoWasTooLateAsksNoMore(t *testing.T) {
	client := leases()
	l := hold(t, client, Holder{Pod: "manager-0", Run: "a"})
	for _, c := range []struct {
		says           string
		renewed, asked time.Duration // ago
		asks           bool
	}{
		{"it has just renewed the Lease", 0, 0, true},
		{"it has tried for long", time.Hour + 1, time.Second, false},
		{"it has stood still, and nobody has taken the Lease", time.Hour + 1, time.Hour + 1, true},
	} {
		l.renewed, l.asked = time.Now().Add(-c.renewed), time.Now().Add(-c.asked)
		if _, _, err := l.Get(t.Context()); (err == nil) != c.asks {
			t.Errorf("%s: %v", c.says, err)
		}
	}
	waits := lockOf(client, second, true)
	for range 2 {
		waits.asked = time.Now()
		if _, _, err := waits.Get(t.Context()); err != nil {
			t.Errorf("it has never led: %v", err)
		}
	}
}

// Who waits watches the present holder only. The address of an earlier one may be another pod's by
// now.
func TestAnEarlierHolderIsWatchedNoMore(t *testing.T) {
	client, agents := leases(), listen(t)
	first := hold(t, client, Holder{Pod: "manager-0", Address: agents.Addr().String(), Run: "a"})
	waits := lockOf(client, second, true)
	get := func() {
		t.Helper()
		_, _, err := waits.Get(t.Context())
		must(t, err)
	}
	get()
	conn := agents.next(t)
	record, _, err := first.Get(t.Context())
	must(t, err)
	record.HolderIdentity = Holder{Pod: "manager-2", Address: "127.0.0.1:1", Run: "c"}.String()
	must(t, first.Update(t.Context(), *record))
	get()
	must(t, conn.SetReadDeadline(time.Now().Add(patience)))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection to the earlier holder: %v, want its end", err)
	}
	must(t, conn.Close())
	select {
	case <-agents.taken:
		t.Error("the earlier holder is dialled again")
	case <-time.After(6 * redialAfter):
	}
}
