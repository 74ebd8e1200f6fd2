package roster

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
	"github.com/podesta-dev/podesta/test/bubble"
)

// pipes is a listener whose connections are in memory, so that time is virtual.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.accepted <- far
	return near, nil
}

// inMemory is a manager on pipes.
func inMemory(t *testing.T) (*manager, *pipes) {
	t.Helper()
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	at := newPipes()
	return serve(t, authority, at, guests{"a": a}), at
}

// enter connects an agent that says nothing by itself.
func enter(t *testing.T, m *manager, at *pipes) *caller {
	t.Helper()
	g := newAgent(t, m, "a", certifiedAs(t, m, a))
	raw, err := at.dial(t.Context(), "")
	must(t, err)
	c := shake(t, raw, g.Keyring.RosterClient())
	must(t, c.failed)
	return c
}

// hold is enter, and the agent follows.
func hold(t *testing.T, m *manager, at *pipes) *caller {
	t.Helper()
	c := enter(t, m, at)
	must(t, c.begin())
	return c
}

// An agent that says nothing is taken for gone, and one that sends Pings is not.
func TestASilentAgentIsGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, at := inMemory(t)
		c := hold(t, m, at)
		for range 3 {
			<-time.After(silentWithin - time.Second)
			must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Ping{}}))
			if answer, err := c.receive(time.Second); err != nil || answer.GetPong() == nil {
				t.Fatalf("the answer to a Ping: %v (%v)", answer, err)
			}
		}
		silent := time.Now()
		if _, err := c.receive(2 * silentWithin); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("it is never taken for gone")
		}
		if took := time.Since(silent); took != silentWithin {
			t.Errorf("it is gone after %s, want %s", took, silentWithin)
		}
	})
}

// A connection that neither joins nor follows is closed, also one with a certificate.
func TestAConnectionWithoutAPurposeIsClosed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, at := inMemory(t)
		c := enter(t, m, at)
		idle := time.Now()
		if said, err := c.receive(2 * idleWithin); err == nil {
			t.Errorf("the manager says %v", said)
		}
		if took := time.Since(idle); took != idleWithin {
			t.Errorf("it was closed after %s, want %s", took, idleWithin)
		}
	})
}

// An agent and a manager that have nothing to say to each other stay connected.
func TestASubscriptionAtRestGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, at := inMemory(t)
		m.Publish(sample(1))
		g := newAgent(t, m, "a", certifiedAs(t, m, a), func(c *ClientConfig) { c.Dial = at.dial })
		g.Report(Report{StateID: "m"})
		g.run(t)
		g.next(t)
		<-time.After(time.Hour)
		if n := m.subscriptions.Load(); n != 1 {
			t.Errorf("after an hour it is subscription %d", n)
		}
		m.Publish(sample(2))
		if u := g.next(t); u.Roster == nil || u.Roster.Generation != 2 {
			t.Errorf("after an hour it is told %+v", u)
		}
		g.stop()
	})
}

// A manager that says nothing is taken for gone.
func TestASilentManagerIsGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, at := inMemory(t)
		m.Publish(sample(1))
		g := newAgent(t, m, "a", certifiedAs(t, m, a), func(c *ClientConfig) {
			c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := at.dial(ctx, address)
				return &deaf{Conn: conn, from: time.Now().Add(time.Minute)}, err
			}
		})
		ended := make(chan error, 1)
		go func() { ended <- g.follow(t.Context(), g.updates) }()
		g.next(t)
		begun := time.Now()
		err := <-ended
		took := time.Since(begun)
		if most := time.Minute + pingTimeout; !errors.Is(err, os.ErrDeadlineExceeded) ||
			took < time.Minute-pingInterval+pingTimeout || took > most {
			t.Errorf("it ended after %s, want %s at most: %v", took, most, err)
		}
	})
}

// deaf is a connection on which nothing arrives from some time on.
type deaf struct {
	net.Conn
	from time.Time
}

func (d *deaf) Read(p []byte) (int, error) {
	for {
		n, err := d.Conn.Read(p)
		if err != nil || time.Now().Before(d.from) {
			return n, err
		}
	}
}

// What is published while an agent takes its time with an earlier roster is sent after it.
func TestWhatIsPublishedWhileAnAgentReadsIsSent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m, at := inMemory(t)
		c := hold(t, m, at)
		for generation := range int64(3) {
			m.Publish(sample(generation + 1))
			synctest.Wait() // the manager writes, and nobody reads
		}
		var last int64
		for last != 3 {
			message, err := c.receive(time.Second)
			must(t, err)
			r, err := Open(m.Keyring, message.GetUpdate().GetRoster())
			must(t, err)
			if r.Generation <= last {
				t.Errorf("generation %d after %d", r.Generation, last)
			}
			last = r.Generation
		}
	})
}
