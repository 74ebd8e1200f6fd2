package roster

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

func TestAgentJoinsByTokenAndFollows(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a")
	report := Report{
		StateID:     "m1",
		GroupUID:    "this",
		Incarnation: 7,
		Coordinator: b.Pod,
		Epoch:       7 << 20,
		LeaseState:  LeaseFollowing,
		Table:       []Row{{Name: b.Pod, State: Coordinator}},
		LastElection: &Election{
			Decision:  "d",
			Initiator: a.Pod,
			Reason:    "Started",
			Sent:      3,
			Duration:  4 * time.Millisecond,
			Epoch:     6 << 20,
		},
	}
	g.Report(report)
	g.run(t)

	if got := g.next(t); got.Gone || !got.Roster.Equal(sample(1)) {
		t.Fatalf("the first update is %+v, want the roster", got)
	}
	m.sees(t, "the report", connected(a.Pod))
	if got := m.Sightings.Group("shop", "scheduler")[0]; !reflect.DeepEqual(got.Report, report) ||
		got.UID != a.UID {
		t.Errorf("sighting %+v, want the report %+v", got, report)
	}
	if name, ok := g.Keyring.Name(); !ok || name != a {
		t.Errorf("the certificate names %v, want %v", name, a)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.kept) != 1 || g.kept[0][0] == nil || g.kept[0][1] == nil ||
		!bytes.Equal(g.kept[0][2], m.bundle) {
		t.Errorf("kept %d times, want certificate, key and bundle once", len(g.kept))
	}

	m.Publish(sample(2))
	if got := g.next(t); got.Roster == nil || got.Roster.Generation != 2 {
		t.Errorf("after a new roster the update is %+v", got)
	}
	g.stop()
	m.sees(t, "the agent leave", connected())
	if got := m.Sightings.Group("shop", "scheduler"); len(got) != 1 ||
		!reflect.DeepEqual(got[0].Report, report) {
		t.Errorf("after the subscription the last report is gone: %+v", got)
	}
}

// An agent is told why no further process can become a voter, whether it comes before or after that,
// and when that is over.
func TestAgentIsToldWhyItWaits(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a")
	if _, admitted, trouble := g.Standing(); admitted || trouble != "" {
		t.Errorf("before it runs: admitted %v, %q", admitted, trouble)
	}
	lost := Hold{Reason: "the majority is lost", Ready: true}
	m.Hold("shop", "scheduler", lost)
	g.run(t)
	g.next(t)
	stands := func(want Hold) {
		t.Helper()
		again := time.NewTicker(time.Millisecond) // nobody is told when it changes
		defer again.Stop()
		deadline := time.Now().Add(patience)
		for hold, admitted, _ := g.Standing(); hold != want || !admitted; hold, admitted, _ = g.Standing() {
			if time.Now().After(deadline) {
				t.Fatalf("it was told %+v, admitted %v, want %+v", hold, admitted, want)
			}
			<-again.C
		}
	}
	stands(lost)
	m.Hold("shop", "scheduler", Hold{})
	stands(Hold{})
	m.Hold("shop", "scheduler", lost)
	stands(lost)
	m.Disband("shop", "scheduler")
	stands(Hold{})
	missing := Hold{Reason: "the group does not exist"}
	m.Hold("shop", "scheduler", missing)
	stands(missing)
	m.Disband("shop", "scheduler") // again: the agent is not told another thing in between
	if hold := m.publisher.holds(identity.Name{Namespace: "shop", Group: "scheduler"}); hold != missing {
		t.Errorf("a group that does not exist is disbanded, and its agents are told %+v", hold)
	}
}

// The last report of an agent reaches the manager though its subscription ends with it.
func TestTheLastWordOfAnAgent(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a")
	g.Farewell(t.Context()) // there is no subscription
	g.Report(Report{})
	g.run(t)
	g.next(t)
	m.sees(t, "the report", connected(a.Pod))
	g.Report(Report{Leaving: true, Left: true})
	g.Farewell(t.Context())
	g.stop()
	m.sees(t, "the agent leave", connected())
	if got := m.Sightings.Group("shop", "scheduler"); len(got) != 1 || !got[0].Report.Left {
		t.Errorf("its last word: %+v", got)
	}
}

// A slow agent does not get rosters that are superseded: between the one that it is busy with and
// the newest, there is at most one.
func TestSlowAgentSkipsOvertakenRosters(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a").run(t)
	g.next(t)
	subscription := newSubscription(a, 1, nowhere{})
	_, last := pending(t, subscription, m, sent{})
	for generation := int64(2); generation <= 1000; generation++ {
		m.Publish(sample(generation))
	}
	updates, _ := pending(t, subscription, m, last)
	if len(updates) != 1 {
		t.Fatalf("a subscription that was busy reads %v, want one roster only", updates)
	}
	if r, err := Open(m.Keyring, updates[0].GetRoster()); err != nil || r.Generation != 1000 {
		t.Errorf("a subscription that was busy reads %v, %v; want generation 1000", r.Generation, err)
	}
	for g.next(t).Roster.Generation != 1000 { // a real agent ends there, too
	}
}

// An agent whose view changes all the time says so ten times a second. Reports that waited for each
// other on the way would be old.
func TestAnAgentThatChangesAllTheTimeReportsNowAndThen(t *testing.T) {
	m := newManager(t)
	g := newAgent(t, m, "a")
	begun := time.Now()
	g.run(t)
	const more = reportsPerSecond / 2
	for i := int64(1); i <= reportsAtOnce+more; i++ {
		g.Report(Report{Generation: i})
		m.sees(t, "each report", func(all []Sighting) bool {
			return len(all) == 1 && all[0].Report.Generation == i
		})
	}
	if took, least := time.Since(begun), more*time.Second/reportsPerSecond; took < least {
		t.Errorf("all were sent within %v, want %v at least", took, least)
	}
}

// pending is what a subscription has to send.
func pending(t *testing.T, s *subscription, m *manager, last sent) ([]*rosterpb.Update, sent) {
	t.Helper()
	updates, next, err := s.pending(m.publisher, last)
	if err != nil {
		t.Fatal(err)
	}
	return updates, next
}

func TestGoneAndBack(t *testing.T) {
	m := newManager(t)
	g := newAgent(t, m, "a")
	g.Report(Report{})
	g.run(t)
	m.sees(t, "the agent", connected(a.Pod))
	m.Disband("shop", "scheduler")
	if got := g.next(t); !got.Gone {
		t.Errorf("the group does not exist, the agent is told %+v", got)
	}
	m.Publish(sample(1))
	if got := g.next(t); got.Roster == nil {
		t.Errorf("the group was made again, the agent is told %+v", got)
	}
	without := sample(2)
	without.Processes[0].UID = "another-uid" // a new pod of the same name
	m.Publish(without)
	if got := g.next(t); !got.Gone {
		t.Errorf("the pod is not on the roster, the agent is told %+v", got)
	}
}

// A manager that starts sends nothing about a group before it knows the group: an agent that is
// told Gone would stop electing.
func TestNewManagerSaysNothingAboutAGroupItDoesNotKnowYet(t *testing.T) {
	m := newManager(t)
	subscription := newSubscription(a, 1, nowhere{})
	updates, last := pending(t, subscription, m, sent{})
	if len(updates) != 1 || updates[0].GetTrust() == nil {
		t.Fatalf("before anything is known a subscription says %v, want the bundle only", updates)
	}
	m.Disband("shop", "scheduler")
	m.publisher.enter(a, subscription)
	m.Disband("shop", "scheduler")
	subscription.reports(Report{})
	if updates, _ = pending(t, subscription, m, last); len(updates) != 1 ||
		updates[0].GetGone() == nil {
		t.Errorf("then it says %v, want Gone", updates)
	}
	m.publisher.leave(a, subscription)
	if len(m.publisher.groups) != 0 {
		t.Errorf("a group that nobody asks for is still published: %v", m.publisher.groups)
	}
}

// A manager that has just begun to lead may read an older roster from its cache than agents use. Who is
// not on that one is not gone, before this manager is so far, and before it knows what the agent uses.
func TestAManagerThatIsLateTellsNobodyThatHeIsGone(t *testing.T) {
	m := newManager(t)
	m.Publish(without(9))
	s := newSubscription(a, 1, nowhere{})
	_, last := pending(t, s, m, sent{})
	for _, step := range []struct {
		what string
		do   func()
		gone bool
	}{
		{"it has not reported", func() {}, false},
		{"it uses a newer roster", func() { s.reports(Report{Generation: 10}) }, false},
		{"the published roster is as new", func() { m.Publish(without(10)) }, true},
	} {
		step.do()
		updates, next := pending(t, s, m, last)
		if last = next; (len(updates) == 1 && updates[0].GetGone() != nil) != step.gone {
			t.Errorf("%s: it is told %v", step.what, updates)
		}
	}
	other := newSubscription(a, 2, nowhere{})
	other.reports(Report{GroupUID: "another object", Generation: 99})
	if _, next := pending(t, other, m, sent{}); !next.gone {
		t.Error("it uses the roster of another group object, and is not told that it is gone")
	}
}

func TestReconnectResendsTheWholeReportAndRejoinsByCertificate(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	tokens := 0
	g := newAgent(t, m, "a", func(c *ClientConfig) {
		c.Token = func() (string, error) { tokens++; return "a", nil }
	})
	g.Report(Report{Coordinator: b.Pod, Incarnation: 1})
	g.run(t)
	g.next(t)
	m.sees(t, "the agent", connected(a.Pod))
	m.stop()

	successor := startManager(t, m.authority, m.address, guests{"a": a})
	successor.Publish(sample(2))
	if got := g.next(t); got.Roster == nil || got.Roster.Generation != 2 {
		t.Errorf("the new manager's first update is %+v", got)
	}
	successor.sees(t, "the agent", connected(a.Pod))
	if got := successor.Sightings.Group("shop", "scheduler")[0].Report; got.Coordinator != b.Pod ||
		got.Incarnation != 1 {
		t.Errorf("the new manager knows %+v, want the report from before", got)
	}
	if tokens != 1 {
		t.Errorf("the agent joined by token %d times, want once: its certificate is good", tokens)
	}
}

// A manager that proves itself and does not take the certificate, as after its CA was replaced by
// an older one, must not lock the agent out for a day.
func TestRefusedCertificateFallsBackToTheToken(t *testing.T) {
	m, other := newManager(t), newManager(t)
	m.Publish(sample(2))
	g := newAgent(t, m, "a", func(c *ClientConfig) {
		key, cert := issue(t, other.authority, a, time.Now())
		must(t, c.Keyring.SetTrust(slices.Concat(other.bundle, m.bundle)))
		must(t, c.Keyring.SetCertificate(cert, key))
	}).run(t)
	if got := g.next(t); got.Roster == nil || got.Roster.Generation != 2 {
		t.Errorf("the update is %+v", got)
	}
}

func TestCertificateIsRenewedAtHalfLifeWithoutATokenAndAnotherSubscriptionFollows(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	born := time.Now().Add(-identity.Lifetime/2 - time.Hour)
	key, cert := issue(t, m.authority, a, born)
	g := newAgent(t, m, "unknown", func(c *ClientConfig) {
		must(t, c.Keyring.SetTrust(m.bundle))
		must(t, c.Keyring.SetCertificate(cert, key))
		// the state directory's bundle is used
		c.Trust = func() ([]byte, error) { return nil, errors.New("no such file") }
	})
	old := g.Keyring.NotAfter()
	g.Report(Report{StateID: "m"})
	g.run(t)
	for g.next(t).Roster == nil {
	}
	deadline := time.Now().Add(patience)
	for !g.Keyring.NotAfter().After(old) {
		if time.Now().After(deadline) {
			t.Fatal("the certificate was not renewed")
		}
		select {
		case <-g.updates:
		case <-time.After(time.Millisecond):
		}
	}
	for !func() bool { // a subscription with the new certificate
		m.publisher.mu.Lock()
		defer m.publisher.mu.Unlock()
		s := m.publisher.groups[groupKey{"shop", "scheduler"}].subscriptions[a.UID]
		return s != nil && s.to.(*delivery).accepted.notAfter.After(old)
	}() {
		if time.Now().After(deadline) {
			t.Fatal("no subscription was begun with the new certificate")
		}
		select {
		case <-g.updates:
		case <-time.After(time.Millisecond):
		}
	}
}

func TestNewestSubscriptionOfAPodSpeaksForIt(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	key, cert := issue(t, m.authority, a, time.Now())
	first, second := m.follow(t, key, cert), m.follow(t, key, cert)
	second.report(t, &rosterpb.Report{Coordinator: "second"})
	m.sees(t, "the second subscription",
		func(all []Sighting) bool { return len(all) == 1 && all[0].Report.Coordinator == "second" })
	if err := first.drain(); codeOf(err) != rosterpb.Refusal_REPLACED {
		t.Errorf("the older subscription ended with %v, want REPLACED", err)
	}
	if all := m.Sightings.Group("shop", "scheduler"); !all[0].Connected {
		t.Error("the end of the older subscription made the pod disconnected")
	}
}

func TestRefusals(t *testing.T) {
	m := newManager(t)
	other, err := identity.NewAuthority(time.Now())
	must(t, err)
	validKey, valid := issue(t, m.authority, a, time.Now())
	expiredKey, expired := issue(t, m.authority, a, time.Now().Add(-identity.Lifetime-time.Hour))
	foreignKey, foreign := issue(t, other, a, time.Now())
	goneKey, gone := issue(t, m.authority, identity.Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       "gone",
		UID:       "g",
	},
		time.Now())
	csr := request(t)
	join := func(token string, csr []byte) func(*caller) error {
		return func(c *caller) error {
			_, err := c.ask(t.Context(), token, csr)
			return err
		}
	}
	for _, test := range []struct {
		name      string
		key, cert []byte
		call      func(*caller) error
		code      rosterpb.Refusal_Code
		says      string
	}{
		{"a bad token", nil, nil, join("forged", csr), rosterpb.Refusal_DENIED, "not valid"},
		{
			"a token for another audience",
			nil,
			nil,
			join("other-audience", csr),
			rosterpb.Refusal_DENIED,
			"podesta.dev",
		},
		{
			"a pod without the label",
			nil,
			nil,
			join("no-label", csr),
			rosterpb.Refusal_DENIED,
			"add it to the pod template",
		},
		{"the API server is away", nil, nil, join("api-down", csr), rosterpb.Refusal_UNAVAILABLE, "try again"},
		{"no certificate request", nil, nil, join("a", nil), rosterpb.Refusal_INVALID, "certificate " +
			"request"},
		{
			"a huge token",
			nil,
			nil,
			join(strings.Repeat("x", maxToken+1), csr),
			rosterpb.Refusal_INVALID,
			"must not be longer than",
		},
		{"neither token nor certificate", nil, nil, join("", csr), rosterpb.Refusal_UNAUTHENTICATED, "token"},
		{
			"renewal by a pod that is gone",
			goneKey,
			gone,
			join("", csr),
			rosterpb.Refusal_DENIED,
			"gone",
		},
		{
			"Follow without a certificate",
			nil,
			nil,
			(*caller).begin,
			rosterpb.Refusal_UNAUTHENTICATED,
			"Join with a token first",
		},
		{"Follow with an expired certificate", expiredKey, expired, (*caller).begin, rosterpb.Refusal_UNKNOWN, ""},
		{
			"Follow with a certificate of another CA",
			foreignKey,
			foreign,
			(*caller).begin,
			rosterpb.Refusal_UNKNOWN,
			"",
		},
		{
			"renewal with an expired certificate",
			expiredKey,
			expired,
			join("", csr),
			rosterpb.Refusal_UNKNOWN,
			"",
		},
		{
			"a report without a Follow",
			validKey,
			valid,
			func(c *caller) error {
				c.report(t, &rosterpb.Report{})
				return c.drain()
			},
			rosterpb.Refusal_INVALID,
			"a Follow comes first",
		},
		{
			"a second Follow",
			validKey,
			valid,
			func(c *caller) error {
				must(t, c.begin())
				must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Follow{}}))
				return c.drain()
			},
			rosterpb.Refusal_INVALID,
			"follows once",
		},
		{
			"a report that cannot be right",
			validKey,
			valid,
			func(c *caller) error {
				must(t, c.begin())
				c.report(t, &rosterpb.Report{Table: []*rosterpb.Row{{
					Name:  "Not a name",
					State: "Normal",
				}}})
				return c.drain()
			},
			rosterpb.Refusal_INVALID,
			`"Not a name"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.call(m.dial(t, test.key, test.cert))
			if err == nil || codeOf(err) != test.code || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("got %v, want %v and %q", err, test.code, test.says)
			}
		})
	}
	m.sees(t, "nobody", connected())
}

func parse(t *testing.T, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return leaf
}

func request(t *testing.T) []byte {
	t.Helper()
	key, err := identity.NewKey()
	must(t, err)
	csr, err := identity.Request(key)
	must(t, err)
	return csr
}

func issue(t *testing.T, authority *identity.Authority, name identity.Name,
	born time.Time) (keyPEM, certPEM []byte) {
	t.Helper()
	key, err := identity.NewKey()
	must(t, err)
	csr, err := identity.Request(key)
	must(t, err)
	keyPEM, err = identity.EncodeKey(key)
	must(t, err)
	certPEM, err = authority.Sign(csr, name, born)
	must(t, err)
	return keyPEM, certPEM
}

func TestRunRefusesABadAddress(t *testing.T) {
	m := newManager(t)
	g := newAgent(t, m, "a", func(c *ClientConfig) { c.Address = "nowhere" })
	if err := g.Run(context.Background(), g.updates); err == nil ||
		!strings.Contains(err.Error(), "HOST:PORT") {
		t.Errorf("got %v", err)
	}
}
