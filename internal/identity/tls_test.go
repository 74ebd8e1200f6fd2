package identity

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	scheduler1 = Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       "scheduler-1",
		UID:       "u1",
	}
	anyone = func(Name) error { return nil }
)

func TestPeers(t *testing.T) {
	a, foreign := newAuthority(t), newAuthority(t)
	server := newKeyring(t, a, scheduler2, noon)
	notOnTheRoster := errors.New("not on the roster")

	for what, tc := range map[string]struct {
		server, client *Keyring
		admit          func(Name) error
		expect         Name
		serverSays     string // a part of the server's error; empty: it accepts
		clientSays     string
	}{
		"two of a group": {server, newKeyring(t, a, scheduler1, noon), anyone, scheduler2, "", ""},
		"a client that is not admitted": {server, newKeyring(t, a, scheduler1, noon),
			func(Name) error {
				return notOnTheRoster
			}, scheduler2, "not on the roster", "bad certificate"},
		"a client without a certificate": {
			server,
			newTrustingKeyring(t, a),
			anyone,
			scheduler2,
			"",
			"join first",
		},
		"a client of another authority": {
			server,
			both(t, foreign, a, scheduler1),
			anyone,
			scheduler2,
			"unknown authority",
			"bad certificate",
		},
		"a client whose certificate has expired": {
			server,
			newKeyring(t, a, scheduler1, noon.Add(-25*time.Hour)),
			anyone,
			scheduler2,
			"expired",
			"bad certificate",
		},
		"a client whose certificate is not valid yet": {
			server,
			newKeyring(t, a, scheduler1, noon.Add(time.Hour)),
			anyone,
			scheduler2,
			"not yet valid",
			"bad certificate",
		},
		"the manager as a client": {server, newManagerKeyring(t, a), anyone, scheduler2,
			"does not name a process", "bad certificate"},
		"a server that is another process": {
			server,
			newKeyring(t, a, scheduler1, noon),
			anyone,
			scheduler1,
			"bad certificate",
			"instead of " + scheduler1.String(),
		},
		"a server of another authority": {
			newKeyring(t, foreign, scheduler2, noon),
			newKeyring(t, a, scheduler1, noon),
			anyone,
			scheduler2,
			"bad certificate",
			"unknown authority",
		},
		"a server whose certificate has expired": {
			newKeyring(t, a, scheduler2, noon.Add(-25*time.Hour)),
			newKeyring(t, a, scheduler1, noon),
			anyone,
			scheduler2,
			"bad certificate",
			"expired",
		},
		"a client that trusts nobody yet": {server, NewKeyring(clock(noon)), anyone, scheduler2,
			"bad certificate", "no trusted authorities yet"},
		"a server without a certificate": {
			newTrustingKeyring(t, a),
			newKeyring(t, a, scheduler1, noon),
			anyone,
			scheduler2,
			"join first",
			"internal error",
		},
	} {
		t.Run(what, func(t *testing.T) {
			serverErr, clientErr := connect(t, tc.server.PeerServer(tc.admit),
				tc.client.PeerClient(tc.expect))
			if tc.serverSays != "" || tc.clientSays == "" {
				says(t, "the server", serverErr, tc.serverSays)
			}
			says(t, "the client", clientErr, tc.clientSays)
		})
	}
}

func TestAdmitIsGivenTheNameInTheCertificate(t *testing.T) {
	a := newAuthority(t)
	var admitted Name
	admit := func(n Name) error { admitted = n; return nil }
	connect(t, newKeyring(t, a, scheduler2, noon).PeerServer(admit),
		newKeyring(t, a, scheduler1, noon).PeerClient(scheduler2))
	if admitted != scheduler1 {
		t.Errorf("admit was asked about %v, want %v", admitted, scheduler1)
	}
}

func TestManagerAndAgents(t *testing.T) {
	old, a := newAuthority(t), newAuthority(t)
	manager := newManagerKeyring(t, a)
	expired := newKeyring(t, a, scheduler1, noon.Add(-25*time.Hour))
	shown := newKeyring(t, a, scheduler1, noon)

	for what, tc := range map[string]struct {
		server, client *Keyring
		shows          bool // the manager sees a certificate
		clientSays     string
	}{
		"an agent that has not joined": {
			manager,
			newTrustingKeyring(t, a),
			false,
			"",
		},
		"an agent that has":                      {manager, shown, true, ""},
		"an agent whose certificate has expired": {manager, expired, false, ""},
		"an agent of an authority the manager has lost": {
			manager,
			both(t, old, a, scheduler1),
			false,
			"",
		},
		"a process that poses as the manager": {newKeyring(t, a, scheduler2, noon), shown, false,
			"instead of " + ManagerURI},
		"a manager of an authority the agent does not know": {
			manager,
			newTrustingKeyring(t, old),
			false,
			"unknown authority",
		},
	} {
		t.Run(what, func(t *testing.T) {
			seen := false
			config := tc.server.RosterServer()
			spy(config, &seen)
			serverErr, clientErr := connect(t, config, tc.client.RosterClient())
			says(t, "the client", clientErr, tc.clientSays)
			if tc.clientSays == "" {
				says(t, "the manager", serverErr, "")
				if seen != tc.shows {
					t.Errorf("the manager sees a certificate: %t, want %t", seen, tc.shows)
				}
			}
		})
	}
}

func TestTheManagerRefusesACertificateThatItCannotVerify(t *testing.T) {
	a := newAuthority(t)
	client := newKeyring(t, a, scheduler1, noon.Add(-25*time.Hour)).RosterClient()
	expired := newKeyring(t, a, scheduler1, noon.Add(-25*time.Hour))
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return expired.current.Load().certificate, nil // a client that presents what it should not
	}
	serverErr, _ := connect(t, newManagerKeyring(t, a).RosterServer(), client)
	says(t, "the manager", serverErr, "expired")
}

// An authority signs the certificates of processes itself. Who shows more has the other end check
// each with each.
func TestNoChainIsFollowed(t *testing.T) {
	a := newAuthority(t)
	authorityPEM, _, err := a.PEM()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := parseCertificates(authorityPEM)
	if err != nil {
		t.Fatal(err)
	}
	chained := newKeyring(t, a, scheduler1, noon)
	chained.update(func(c *credentials) {
		longer := *c.certificate
		longer.Certificate = append(slices.Clone(longer.Certificate), authority[0].Raw)
		c.certificate = &longer
	})
	for who, server := range map[string]*tls.Config{
		"another agent": newKeyring(t, a, scheduler2, noon).PeerServer(anyone),
		"the manager":   newManagerKeyring(t, a).RosterServer(),
	} {
		client := chained.PeerClient(scheduler2)
		if who == "the manager" {
			client = chained.RosterClient()
		}
		serverErr, _ := connect(t, server, client)
		says(t, who, serverErr, "presented 2 certificates")
	}
	_, clientErr := connect(t, chained.PeerServer(anyone),
		newKeyring(t, a, scheduler2, noon).PeerClient(scheduler1))
	says(t, "a client", clientErr, "presented 2 certificates")
}

func TestNewCredentialsServeTheNextHandshake(t *testing.T) {
	old, next := newAuthority(t), newAuthority(t)
	server, client := newKeyring(t, old, scheduler2, noon), newKeyring(t, old, scheduler1, noon)
	// made once, before the change
	serverConfig, clientConfig := server.PeerServer(anyone), client.PeerClient(scheduler2)

	for what, change := range map[string]func() error{
		"trust": func() error { return client.SetTrust(bundle(t, old, next)) },
		"certificate": func() error {
			return server.SetCertificate(newCertificate(t, next, scheduler2, noon))
		},
	} {
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	serverErr, clientErr := connect(t, serverConfig, clientConfig)
	says(t, "the server", serverErr, "")
	says(t, "the client", clientErr, "")

	if err := client.SetTrust(bundle(t, old)); err != nil {
		t.Fatal(err)
	}
	_, clientErr = connect(t, serverConfig, clientConfig)
	says(t, "the client that trusts the old authority only", clientErr, "unknown authority")
}

func TestNothingBelowTLS13AndNoSessionIsResumed(t *testing.T) {
	a := newAuthority(t)
	k, client := newKeyring(t, a, scheduler2, noon), newKeyring(t, a, scheduler1, noon)
	for what, server := range map[string]*tls.Config{
		"agent":   k.PeerServer(anyone),
		"manager": newManagerKeyring(t, a).RosterServer(),
	} {
		expect := client.PeerClient(scheduler2)
		if what == "manager" {
			expect = client.RosterClient()
		}
		older := expect.Clone()
		older.MinVersion, older.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
		serverErr, _ := connect(t, server, older)
		says(t, what+" asked for TLS 1.2", serverErr, "unsupported versions")

		resuming := expect.Clone()
		resuming.ClientSessionCache = noTickets{tls.NewLRUClientSessionCache(4), t}
		resuming.ServerName = "podesta"
		verified := 0
		inner := resuming.VerifyConnection
		resuming.VerifyConnection = func(s tls.ConnectionState) error {
			verified++
			if s.DidResume {
				t.Errorf("%s: a session was resumed", what)
			}
			return inner(s)
		}
		for range 2 {
			_, clientErr := connect(t, server, resuming)
			says(t, what+"'s client", clientErr, "")
		}
		if verified != 2 {
			t.Errorf("%s: %d of 2 connections were verified", what, verified)
		}
	}
}

// noTickets fails a test when a server issues a session ticket.
type noTickets struct {
	tls.ClientSessionCache
	t *testing.T
}

func (c noTickets) Put(key string, s *tls.ClientSessionState) {
	if s != nil {
		c.t.Error("a session ticket was issued")
	}
	c.ClientSessionCache.Put(key, s)
}

// A server tells its clients of the authorities that are trusted now: a client without a
// certificate of any of these has to join again.
func TestAServerTellsWhomItTrusts(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	k := newManagerKeyring(t, a)
	server := k.RosterServer()
	told := func() *x509.CertPool {
		t.Helper()
		config, err := server.GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		return config.ClientCAs
	}
	before := told()
	bundle, _, err := b.PEM()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.SetTrust(bundle); err != nil {
		t.Fatal(err)
	}
	if after := told(); !before.Equal(newTrustingKeyring(t, a).current.Load().roots) ||
		!after.Equal(newTrustingKeyring(t, b).current.Load().roots) {
		t.Error("it tells of other authorities than it trusts")
	}
}

// connect runs both sides of a handshake over a pipe, then sends one byte from the server to the
// client, because a TLS 1.3 client learns of a rejection only when it reads.
func connect(t *testing.T, serverConfig, clientConfig *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	serverEnd, clientEnd := net.Pipe()
	done := make(chan error)
	go func() {
		far := queued{Conn: serverEnd, writes: make(chan []byte, 16)}
		go far.send()
		conn := tls.Server(far, serverConfig)
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte{1})
		}
		close(far.writes)
		done <- err
	}()
	conn := tls.Client(clientEnd, clientConfig)
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = io.ReadFull(conn, make([]byte, 1))
	}
	clientEnd.Close()
	return <-done, clientErr
}

// queued writes without waiting for the other end, as a socket does: a client that refuses what it
// has read so far, and says so, does not read the rest.
type queued struct {
	net.Conn

	writes chan []byte
}

func (q queued) Write(p []byte) (int, error) {
	q.writes <- bytes.Clone(p)
	return len(p), nil
}

// send writes what is queued, and closes the connection when nothing comes any more.
func (q queued) send() {
	for p := range q.writes {
		_, _ = q.Conn.Write(p) // whoever reads finds out
	}
	_ = q.Close()
}

// spy records whether the client presents a certificate.
func spy(config *tls.Config, seen *bool) {
	get := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		fresh, err := get(hello)
		if err != nil {
			return nil, err
		}
		verify := fresh.VerifyConnection
		fresh.VerifyConnection = func(s tls.ConnectionState) error {
			*seen = len(s.PeerCertificates) > 0
			return verify(s)
		}
		return fresh, nil
	}
}

// both returns a keyring with a certificate of one authority that trusts another.
func both(t *testing.T, certifies, trusts *Authority, n Name) *Keyring {
	t.Helper()
	k := newKeyring(t, certifies, n, noon)
	if err := k.SetTrust(bundle(t, trusts)); err != nil {
		t.Fatal(err)
	}
	return k
}

func bundle(t *testing.T, authorities ...*Authority) []byte {
	t.Helper()
	var pem []byte
	for _, a := range authorities {
		certPEM, _, err := a.PEM()
		if err != nil {
			t.Fatal(err)
		}
		pem = append(pem, certPEM...)
	}
	return pem
}

func says(t *testing.T, who string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v, want no error", who, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %q", who, err, want)
	}
}
