package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// The algorithm nominates, the lease protocol authorises: the process that wins the election asks
// the voters, and holds the lease only when a majority has voted.
func TestElectedIsNominated(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	if did := p.did(); !strings.Contains(did, "COORDINATOR to P1") || !strings.Contains(did, "PREVOTE 1.0 to P1") {
		t.Fatalf("P3 is elected, and does not ask: %s", did)
	}
	p.grant("P1")
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 to P1") {
		t.Errorf("a majority would vote for it, and it does not ask: %s", did)
	}
	if p.ledger.Valid(p.now) || p.node.View().Coordinator != "" {
		t.Error("it coordinates before anybody has voted")
	}
	p.grant("P1")
	if v := p.node.View(); !p.ledger.Valid(p.now) || v.Coordinator != "P3" || v.Epoch.String() != "1.1" {
		t.Errorf("a majority has voted, and it shows %+v", v)
	}
}

// F1, F4: a renewal makes the election algorithm name the leaseholder, whoever was elected; and the
// failure detector need not ask.
func TestLeaseholderIsAppointed(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.request("P2", lease.Renew, 1)
	if p.named() != "P2" || p.node.View().Coordinator != "P2" {
		t.Errorf("it names %q, and shows %+v", p.named(), p.node.View())
	}
	p.pass(100 * ms)
	for _, m := range p.sent {
		if m.Type == node.Question { // its answer measures T
			p.receive("P2", node.Message{Type: node.Answer, Sequence: m.Sequence, Follows: "P2"})
		}
	}
	p.did()
	for range 5 {
		p.request("P2", lease.Renew, 1)
		p.pass(100 * ms)
	}
	if did := p.did(); strings.Contains(did, "question to P2") || strings.Contains(did, "PREVOTE") {
		t.Errorf("its renewals come, and it did: %s", did)
	}
}

// LH6, LH8: an app that becomes unhealthy has its permission revoked before anything else goes
// out. RELEASE comes when all that the app was told has passed.
func TestUnhealthyApp(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.hold()
	told := p.ledger.Told()
	p.step(node.Event{Type: node.Unhealthy})
	did := p.did()
	if !strings.HasPrefix(did, "revoke; ") || !strings.Contains(did, "STEP DOWN 1.1 to P1") ||
		strings.Contains(did, "RELEASE") {
		t.Errorf("it did: %s", did)
	}
	if p.ledger.Valid(p.now) || !p.node.View().Withdrawn {
		t.Error("it may act, or is a candidate")
	}
	p.receive("P1", node.Message{Type: node.Question, Sequence: 1})
	if did := p.did(); strings.Contains(did, "answer P3") {
		t.Errorf("asked whom it follows, it did: %s", did)
	}
	p.pass(told - p.now - 1)
	if did := p.did(); strings.Contains(did, "RELEASE") {
		t.Errorf("too early it did: %s", did)
	}
	p.pass(1)
	if did := p.did(); !strings.Contains(did, "RELEASE 1.1 to P1") {
		t.Errorf("at the end it did: %s", did)
	}
}

// The app is told when a majority has granted the newest renewal, so that it knows whether the lease
// is renewed; also while its deadline stands still.
func TestTheAppIsToldOfRenewals(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.hold()
	voted := p.ledger.Granted().Renewed
	p.pass(100 * ms)
	if got := p.ledger.Granted().Renewed; got != voted {
		t.Errorf("nobody has granted it, and it counts from %v, not from %v", got, voted)
	}
	p.grant("P1")
	if got := p.ledger.Granted().Renewed; got <= voted {
		t.Errorf("a majority has granted it, and it counts from %v", got)
	}
}

// LH6: an app whose only knowledge of its permission is a session that it closes is not waited for.
func TestSessionIsNotWaitedFor(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.grant("P1")
	p.grant("P1")
	s := p.ledger.Open()
	if _, ok := p.ledger.UseIn(s, p.now); !ok {
		t.Fatal("it does not hold the lease")
	}
	p.did()
	p.step(node.Event{Type: node.Unhealthy})
	if did := p.did(); strings.Contains(did, "RELEASE") {
		t.Fatalf("its app was told, and it did: %s", did)
	}
	p.ledger.Close(s)
	p.step(node.Event{Type: node.Told, Until: p.ledger.Told()})
	if did := p.did(); !strings.Contains(did, "RELEASE 1.1 to P1") {
		t.Errorf("its app relies on nothing any more, and it did: %s", did)
	}
}

// C5: a process that reaches no majority withdraws from the election, and comes back by itself; not
// while its app is unhealthy.
func TestRestsAndReturns(t *testing.T) {
	for _, unhealthy := range []bool{false, true} {
		p := start(t, "P3", newRoster(true))
		p.until("it rests", func() bool { return p.node.Lease().Rests() })
		if !p.node.Election().State().Withdrawn {
			t.Fatal("it rests, and its election algorithm has not withdrawn")
		}
		if unhealthy {
			p.step(node.Event{Type: node.Unhealthy})
		}
		p.until("it has rested", func() bool { return !p.node.Lease().Rests() })
		if withdrawn := p.node.Election().State().Withdrawn; withdrawn != unhealthy {
			t.Errorf("unhealthy is %v: afterwards withdrawn is %v", unhealthy, withdrawn)
		}
	}
}

// A process whose app is healthy again while it rests stays away until it has rested.
func TestHealthyWhileItRests(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.until("it rests", func() bool { return p.node.Lease().Rests() })
	p.step(node.Event{Type: node.Unhealthy})
	p.step(node.Event{Type: node.Healthy})
	if !p.node.Election().State().Withdrawn {
		t.Error("it is back before it has rested")
	}
	p.until("it has rested", func() bool { return !p.node.Lease().Rests() })
	if p.node.Election().State().Withdrawn {
		t.Error("it never comes back")
	}
}

// C8: the election algorithm suspects the leaseholder only when the voters do not hear it either.
func TestSuspicionIsConsulted(t *testing.T) {
	p := start(t, "P2", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.request("P3", lease.Renew, 1)
	p.did()
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	p.until("it asks the voters", func() bool { return strings.Contains(strings.Join(p.said, ""), "PREVOTE") })
	if p.named() != "P3" {
		t.Fatalf("it asks the voters, and names %q already", p.named())
	}
	p.deny("P1")
	if p.named() == "P3" {
		t.Error("nobody hears the leaseholder, and the election algorithm does not suspect it")
	}
}

// In a Classic group the election decides, and nothing is asked of voters.
func TestClassic(t *testing.T) {
	p := start(t, "P3", newRoster(false))
	if v := p.node.View(); v.Coordinator != "P3" || v.Epoch != 0 {
		t.Errorf("it shows %+v", v)
	}
	p.step(node.Event{Type: node.Unhealthy})
	p.step(node.Event{Type: node.Healthy})
	p.request("P1", lease.PreVote, 0)
	if did := p.did(); strings.Contains(did, "VOTE") || strings.Contains(did, "granted") {
		t.Errorf("it did: %s", did)
	}
}

// The process status table shows what the links say, and who holds the lease (G10). A nominee does
// not coordinate.
func TestTheTable(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	shows := func(when, want string) {
		t.Helper()
		var rows []string
		for _, e := range p.node.View().Table {
			rows = append(rows, fmt.Sprintf("%s %s", e.Name, e.Status))
		}
		if got := strings.Join(rows, ", "); got != want {
			t.Errorf("%s, it shows %s; want %s", when, got, want)
		}
	}
	shows("nominated", "P1 NORMAL, P2 NORMAL, P3 NORMAL")
	p.hold()
	shows("with the lease", "P1 NORMAL, P2 NORMAL, P3 COORDINATOR")
	before := p.node.View().Table
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkDown, From: "P2"})
	shows("without a link to P2", "P1 NORMAL, P2 CRASHED, P3 COORDINATOR")
	p.step(node.Event{Type: node.Unhealthy})
	shows("without the lease", "P1 NORMAL, P2 CRASHED, P3 NORMAL")
	if before[1].Status != election.Normal || before[2].Status != election.Coordinates {
		t.Errorf("the table that it has shown has changed: %+v", before)
	}
}

// F6, G10: a process that can ask no majority about its leaseholder names nobody, nor does its table,
// though the election algorithm has taken no step meanwhile.
func TestTheTableNamesNobodyInDoubt(t *testing.T) {
	p := start(t, "P2", newRoster(true))
	p.request("P3", lease.Renew, 1)
	shows := func(name string) bool {
		return slices.ContainsFunc(p.node.View().Table, func(e election.Entry) bool {
			return e.Name == name && e.Status == election.Coordinates
		})
	}
	if p.node.View().Coordinator != "P3" || !shows("P3") {
		t.Fatalf("P3 renews, and it shows %+v", p.node.View())
	}
	p.until("it names nobody", func() bool { return p.node.View().Coordinator == "" })
	if e := p.node.View().Epoch; e != 0 {
		t.Errorf("it names nobody, and epoch %s", e)
	}
	if shows("P3") {
		t.Errorf("it names nobody, and its table shows %v", p.node.View().Table)
	}
}

// The transcript of a long election has its newest lines, in order.
func TestTranscript(t *testing.T) {
	for _, rumours := range []int{3, 100} {
		p := start(t, "P1", newRoster(false))
		for i := range rumours {
			m := electionMessage("RUMOUR", "P2")
			m.Election.Process = fmt.Sprint(i)
			p.receive("P2", m)
		}
		p.receive("P3", electionMessage(election.Coordinator, "P3"))
		lines := p.node.View().Last.Transcript()
		if want := min(rumours+3, 64); len(lines) != want { // it asks P2 and P3 first
			t.Fatalf("%d lines, want %d: %q", len(lines), want, lines)
		}
		last := len(lines) - 1
		if !strings.HasSuffix(lines[last], "P3 → P1  COORDINATOR P3") {
			t.Errorf("the last line is %q", lines[last])
		}
		for i := range min(rumours, last) {
			want := fmt.Sprintf("P2 → P1  RUMOUR %d", rumours-1-i)
			if line := lines[last-1-i]; !strings.HasSuffix(line, want) {
				t.Errorf("line %d is %q, want %q", last-1-i, line, want)
			}
		}
	}
}

// A leaseholder is sure of itself, whatever the election algorithm makes of an announcement.
func TestLeaseholderNamesItself(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.hold()
	p.receive("P1", node.Message{Type: node.Question, Sequence: 7, ReplyTo: "the stream"})
	if m := p.sent[len(p.sent)-1]; m.Type != node.Answer || m.Follows != "P3" || m.Sequence != 7 ||
		m.ReplyTo != "the stream" {
		t.Errorf("asked whom it follows, it says %+v", m)
	}
}

// A coordinator that does not answer within T is suspected, and one whose link is closed at once.
func TestSuspicion(t *testing.T) {
	for _, closed := range []bool{false, true} {
		p := start(t, "P2", newRoster(false))
		p.step(node.Event{Type: node.LinkUp, From: "P3"})
		p.receive("P3", electionMessage(election.Coordinator, "P3"))
		if p.named() != "P3" {
			t.Fatalf("it names %q", p.named())
		}
		begun := p.now
		if closed {
			p.step(node.Event{Type: node.LinkDown, From: "P3"})
		}
		p.until("it follows itself", func() bool { return p.named() == "P2" })
		if took := p.now - begun; closed && took > 10*ms || !closed && took < 500*ms {
			t.Errorf("closed %v: that took %v", closed, took)
		}
	}
}

// A message of an incarnation that has ended, of another algorithm or of a stranger changes
// nothing.
func TestWhatIsNotHeard(t *testing.T) {
	p := start(t, "P2", newRoster(false))
	named := p.named()
	other := electionMessage(election.Coordinator, "P3")
	other.Algorithm = "RingList"
	p.receive("P3", other)
	p.receive("P9", electionMessage(election.Coordinator, "P9"))
	if p.named() != named {
		t.Errorf("it names %q after %q", p.named(), named)
	}
}

// The app reports that the coordinator does not answer it. In a Classic group that calls an
// election; in a Guarded group the voters are asked first. About any other process it means
// nothing.
func TestAppSuspects(t *testing.T) {
	for _, c := range []struct {
		guarded    bool
		about, did string // empty: nothing
	}{
		{false, "P3", "ELECTION to P3"},
		{true, "P3", "PREVOTE 1.0 to P1"},
		{false, "P1", ""},
		{true, "P1", ""},
		{false, "", ""},
	} {
		p := start(t, "P2", newRoster(c.guarded))
		p.step(node.Event{Type: node.LinkUp, From: "P3"})
		if c.guarded {
			p.request("P3", lease.Renew, 1)
		} else {
			p.receive("P3", electionMessage(election.Coordinator, "P3"))
		}
		p.did()
		p.step(node.Event{Type: node.AppSuspects, From: c.about})
		did := p.did()
		if !strings.HasPrefix(did, c.did) || c.did == "" && did != "" {
			t.Errorf("%+v: it did: %s", c, did)
		}
		noted := slices.ContainsFunc(p.notes, func(n node.Note) bool { return n.Type == node.AppSuspected })
		if noted != (c.did != "") {
			t.Errorf("%+v: it notes %+v", c, p.notes)
		}
		if c.guarded && p.named() != "P3" {
			t.Errorf("%+v: it names %q already", c, p.named())
		}
	}
}

// A coordinator that suspects itself, and a process on no roster, do nothing.
func TestAppSuspectsInVain(t *testing.T) {
	p := start(t, "P3", newRoster(false))
	p.did()
	p.step(node.Event{Type: node.AppSuspects, From: "P3"})
	p.step(node.Event{Type: node.Expired})
	p.did()
	p.step(node.Event{Type: node.AppSuspects, From: "P3"})
	if did := p.did(); did != "" || len(p.notes) == 0 {
		t.Errorf("it did: %s", did)
	}
}
