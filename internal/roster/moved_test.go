package roster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// labels is an Admission that finds pods with the group of their label.
type labels struct {
	group atomic.Pointer[string] // of pod a
	read  chan struct{}          // by Readmit
}

func labelled(group string) *labels {
	l := &labels{read: make(chan struct{}, 100)}
	l.group.Store(&group)
	return l
}

func (l *labels) Admit(context.Context, string) (identity.Name, error) {
	name := a
	name.Group = *l.group.Load()
	return name, nil
}

func (*labels) Present(identity.Name) bool { return true }

func (*labels) Claims(string) string { return "shop" }

func (l *labels) Readmit(_ context.Context, name identity.Name) error {
	l.read <- struct{}{}
	switch *l.group.Load() {
	case name.Group:
		return nil
	case "":
		return Refuse("it has no label")
	}
	return Moved("pod %s belongs to group %q now", name.Pod, *l.group.Load())
}

// of returns sample as the roster of a group.
func of(group string, generation int64) Roster {
	r := sample(generation)
	r.Group = group
	return r
}

// without returns sample without pod a.
func without(generation int64) Roster {
	r := sample(generation)
	r.Processes = r.Processes[1:]
	return r
}

func managerOf(t *testing.T, admission Admission) *manager {
	t.Helper()
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	return startManager(t, authority, "127.0.0.1:0", admission)
}

// runs starts the agent; what ends it comes over the channel.
func (g *agent) runs(t *testing.T) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	g.Report(Report{})
	go func() { ended <- g.Run(ctx, g.updates) }()
	t.Cleanup(cancel)
	return ended
}

func movedBy(t *testing.T, ended <-chan error, want string) {
	t.Helper()
	select {
	case err := <-ended:
		moved := (*MovedError)(nil)
		if !errors.As(err, &moved) || !strings.Contains(err.Error(), want) {
			t.Errorf("it ended with %v, want a MovedError with %q", err, want)
		}
	case <-time.After(patience):
		t.Fatal("nothing ended it")
	}
}

// An agent whose pod moves to another group is told that it is in neither, then that it is to join
// again. It does not matter which group's roster comes first.
func TestAPodThatMovesJoinsAgain(t *testing.T) {
	for _, leftFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("the group that it left comes first: %t", leftFirst), func(t *testing.T) {
			is := labelled("scheduler")
			m := managerOf(t, is)
			m.Publish(sample(1))
			g := newAgent(t, m, "a")
			ended := g.runs(t)
			g.next(t)
			is.group.Store(new("billing"))
			if !leftFirst {
				m.Publish(of("billing", 1))
			}
			m.Publish(without(2))
			if u := g.next(t); !u.Gone {
				t.Errorf("before it is to join again it is told %+v, want Gone", u)
			}
			if leftFirst {
				m.Publish(of("billing", 1))
			}
			movedBy(t, ended, `belongs to group "billing" now`)
		})
	}
}

// Its certificate still counts when the agent comes back, with another manager or after a restart.
func TestAPodThatMovedWhileItWasAway(t *testing.T) {
	m := managerOf(t, labelled("billing"))
	m.Publish(without(1))
	m.Publish(of("billing", 1))
	g := newAgent(t, m, "a", certifiedAs(t, m, a))
	ended := g.runs(t)
	g.next(t)
	movedBy(t, ended, `belongs to group "billing" now`)
}

// certifiedAs lets an agent begin with a certificate.
func certifiedAs(t *testing.T, m *manager, name identity.Name) func(*ClientConfig) {
	return func(c *ClientConfig) {
		key, cert := issue(t, m.authority, name, time.Now())
		must(t, c.Keyring.SetTrust(m.bundle))
		must(t, c.Keyring.SetCertificate(cert, key))
	}
}

// As long as a group lists a process it stays there: a voter that its group cannot spare yet.
func TestWhoIsOnTheRosterHasNotMoved(t *testing.T) {
	is := labelled("billing")
	m := managerOf(t, is)
	m.Publish(sample(1))
	m.Publish(of("billing", 1))
	g := newAgent(t, m, "a", certifiedAs(t, m, a)).run(t)
	g.next(t)
	m.Publish(sample(2))
	if u := g.next(t); u.Roster == nil || u.Roster.Generation != 2 {
		t.Errorf("it is told %+v, want the roster", u)
	}
	if n := len(is.read); n != 0 || m.publisher.elsewhere(a) {
		t.Errorf("its pod was read %d times, want never", n)
	}
}

// A pod is not read because its group is deleted or does not list it, and neither because a process
// of another namespace has its UID. One that is listed elsewhere and has the label of its
// certificate has not moved, and one that has no label is told Gone only.
func TestWhoHasNotMoved(t *testing.T) {
	elsewhere := of("billing", 1)
	elsewhere.Namespace = "other"
	for name, c := range map[string]struct {
		label   string
		publish []Roster
		read    bool
	}{
		"no other group":    {"billing", []Roster{without(1)}, false},
		"another namespace": {"billing", []Roster{without(1), elsewhere}, false},
		"moved back":        {"scheduler", []Roster{without(1), of("billing", 1)}, true},
		"no label":          {"", []Roster{without(1), of("billing", 1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			is := labelled(c.label)
			m := managerOf(t, is)
			for _, r := range c.publish {
				m.Publish(r)
			}
			g := newAgent(t, m, "a", certifiedAs(t, m, a))
			g.Report(Report{})
			g.run(t)
			if u := g.next(t); !u.Gone {
				t.Errorf("it is told %+v, want Gone", u)
			}
			if c.read {
				<-is.read
			}
			m.Publish(sample(2))
			if u := g.next(t); u.Roster == nil || m.subscriptions.Load() != 1 {
				t.Errorf("its subscription %d goes on with %+v, want the first one and the roster",
					m.subscriptions.Load(), u)
			}
			if n := len(is.read); n != 0 {
				t.Errorf("its pod was read %d times too often", n)
			}
		})
	}
}

// A manager that has just begun to lead does not know yet whom the group lists.
func TestANewManagerDoesNotKnowWhoHasMoved(t *testing.T) {
	m := managerOf(t, labelled("billing"))
	m.Publish(of("billing", 1))
	m.publisher.enter(a, newSubscription(a, 1, nowhere{}))
	if m.publisher.elsewhere(a) {
		t.Error("the agent of a group that is not known yet is told that it has moved")
	}
}

// A certificate of another group than the label's is not renewed, and the answer says why in a code
// that an agent can tell from other refusals.
func TestARenewalAfterTheMove(t *testing.T) {
	m := managerOf(t, labelled("billing"))
	m.Publish(sample(1))
	g := newAgent(t, m, "a", certifiedAs(t, m, a))
	conn, err := g.connect(t.Context(), g.Keyring)
	must(t, err)
	defer conn.close()
	answer, err := conn.join(t.Context(), &rosterpb.JoinRequest{Csr: []byte("x")})
	must(t, err)
	if answer.GetRefused().GetCode() != rosterpb.Refusal_MOVED {
		t.Errorf("the renewal: %v, want MOVED", answer)
	}
	movedBy(t, ended(g.join(t.Context(), conn, "")), `belongs to group "billing" now`)
}

// An agent that has run as a process of one group never goes on as one of another: it keeps nothing
// of what its token gets it, and ends.
func TestATokenThatBuysAnotherGroup(t *testing.T) {
	m := managerOf(t, labelled("billing"))
	g := newAgent(t, m, "a", func(c *ClientConfig) {
		key, cert := issue(t, m.authority, a, time.Now().Add(-2*identity.Lifetime))
		must(t, c.Keyring.SetTrust(m.bundle))
		must(t, c.Keyring.SetCertificate(cert, key))
	})
	movedBy(t, g.runs(t), `it belongs to "billing"`)
	if name, _ := g.Keyring.Name(); name != a || len(g.kept) != 0 {
		t.Errorf("it is %v now, and kept %d times", name, len(g.kept))
	}
}

func ended(err error) <-chan error {
	c := make(chan error, 1)
	c <- err
	return c
}
