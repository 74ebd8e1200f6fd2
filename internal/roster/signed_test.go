package roster

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// What an agent got from the manager, another one can check without the manager.
func TestARosterIsPassedOnAsTheManagerSignedIt(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(7))
	g := newAgent(t, m, "a").run(t)
	got := g.next(t).Roster
	if got == nil || !got.Equal(sample(7)) || len(got.Signed) == 0 {
		t.Fatalf("the agent got %+v", got)
	}
	other := trusting(t, m.bundle)
	passed, err := Open(other, got.Signed)
	if err != nil || !passed.Equal(sample(7)) {
		t.Fatalf("another process reads %+v, %v", passed, err)
	}
	if again, err := Open(other, passed.Signed); err != nil || !again.Equal(sample(7)) {
		t.Errorf("a third one reads %+v, %v", again, err)
	}
}

func TestOnlyWhatTheManagerSignedIsARoster(t *testing.T) {
	m := newManager(t)
	signed := func(change func(*rosterpb.SignedRoster)) []byte {
		var s rosterpb.SignedRoster
		must(t, proto.Unmarshal(signedBy(t, m), &s))
		change(&s)
		data, err := proto.Marshal(&s)
		must(t, err)
		return data
	}
	another, err := proto.Marshal(rosterToWire(sample(8)))
	must(t, err)
	invalid := sample(7)
	invalid.Generation = -1
	unusable, err := Sign(m.Keyring, invalid)
	must(t, err)
	for what, tc := range map[string]struct {
		signed []byte
		want   string
	}{
		"nothing":               {nil, "certificate"},
		"no message at all":     {[]byte("\xff\xff"), "a signed roster"},
		"another roster":        {signed(func(s *rosterpb.SignedRoster) { s.Roster = another }), "not that of this roster"},
		"without its signature": {signed(func(s *rosterpb.SignedRoster) { s.Signature = nil }), "not that of this roster"},
		"more than a roster is": {make([]byte, MaxSigned+1), "at most"},
		"signed, but invalid":   {unusable, "generation -1"},
		"signed by a stranger":  {signedBy(t, newManager(t)), "unknown authority"},
	} {
		if _, err := Open(trusting(t, m.bundle), tc.signed); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
}

func TestTheLargestRosterCanBePassedOn(t *testing.T) {
	r := sample(1)
	r.Processes = nil
	for i := range MaxProcesses {
		r.Processes = append(r.Processes, Process{
			Name:     fmt.Sprintf("%0*d", maxName, i),
			UID:      strings.Repeat("u", maxUID),
			Address:  strings.Repeat("h", maxName) + ":65535",
			Priority: MaxPriority,
			Voter:    true,
			StateID:  strings.Repeat("s", maxUID),
		})
	}
	must(t, r.Validate())
	m := newManager(t)
	data, err := Sign(m.Keyring, r)
	must(t, err)
	t.Logf("%d bytes of %d", len(data), MaxSigned)
	if got, err := Open(trusting(t, m.bundle), data); err != nil || !got.Equal(r) {
		t.Errorf("%v", err)
	}
}

// The manager's certificate is renewed long before it ends, and a subscription that begins later
// gets a signature that lasts.
func TestARosterIsSignedAgainByANewCertificate(t *testing.T) {
	m := newManager(t)
	m.Publish(sample(1))
	read := func() []byte {
		_, r, _ := m.publisher.read(a)
		s, err := m.publisher.sign(a, r)
		must(t, err)
		return s
	}
	first := read()
	if !bytes.Equal(read(), first) {
		t.Error("it is signed for each subscription")
	}
	cert, key, err := m.authority.IssueManager(time.Now().Add(time.Hour))
	must(t, err)
	must(t, m.Keyring.SetCertificate(cert, key))
	if bytes.Equal(read(), first) {
		t.Error("it is still signed by the old certificate")
	}
	if s, err := m.publisher.sign(a, &Roster{}); s != nil || err != nil {
		t.Errorf("what is not published any more is signed: %v, %v", s, err)
	}
}

func signedBy(t *testing.T, m *manager) []byte {
	t.Helper()
	data, err := Sign(m.Keyring, sample(7))
	must(t, err)
	return data
}

// trusting is the keyring of a process that trusts an authority and has met nobody.
func trusting(t *testing.T, bundle []byte) *identity.Keyring {
	t.Helper()
	k := identity.NewKeyring(time.Now)
	must(t, k.SetTrust(bundle))
	return k
}

func FuzzSigned(f *testing.F) {
	f.Add([]byte{})
	seed, err := proto.Marshal(&rosterpb.SignedRoster{
		Roster:      []byte("r"),
		Certificate: []byte("c"),
		Signature:   []byte("s"),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	bundle, _, err := authority.PEM()
	if err != nil {
		f.Fatal(err)
	}
	k := identity.NewKeyring(time.Now)
	if err := k.SetTrust(bundle); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := Open(k, data); err == nil {
			t.Errorf("a roster that nobody signed: %+v", r)
		}
	})
}
