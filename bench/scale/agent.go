package main

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// agent is an agent's end of the protocol: a real client. What it reports is its group's business.
type agent struct {
	group   *group
	ordinal int
	number  int // of all agents
	name    string
	uid     string // of its pod
	node    *node
	keyring *identity.Keyring

	round int64 // in which it heard a roster last; its listener alone uses it

	// These are guarded by the group's lock.
	client      *roster.Client // nil: it does not run
	incarnation uint64
	used        *roster.Roster // nil: none yet

	mu   sync.Mutex
	stop func() // nil: it does not run
}

// ip is the address of its pod.
func (a *agent) ip() net.IP {
	n := a.number
	return net.IPv4(10, byte(n>>16), byte(n>>8), byte(n)) //nolint:gosec // the bytes of a number
}

func (a *agent) stateID() string { return "state-" + a.uid[:8] }

// begin starts the agent, for the first time or again, with the certificate that it has.
func (a *agent) begin(ctx context.Context, s *site) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // see end
	client := roster.NewClient(roster.ClientConfig{
		Address: s.address,
		Token:   func() (string, error) { return s.token(ctx, a) },
		Trust:   func() ([]byte, error) { return s.readTrust(ctx, a.group.namespace) },
		Keyring: a.keyring,
		Keep:    func(_, _, _ []byte, _ time.Duration) error { return nil },
		Boot:    func() time.Duration { return 0 },
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: a.node.source}, KeepAlive: -time.Second}
			return dialer.DialContext(ctx, "tcp", address)
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	a.group.start(a, client)
	updates := make(chan roster.Update)
	var both sync.WaitGroup
	both.Go(func() {
		defer cancel()
		_ = client.Run(ctx, updates) // nobody moves a pod to another group here
	})
	both.Go(func() { a.listen(ctx, s, updates) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop = func() {
		cancel()
		both.Wait()
	}
}

// listen takes what the manager sends.
func (a *agent) listen(ctx context.Context, s *site, updates <-chan roster.Update) {
	for {
		select {
		case u := <-updates:
			if u.Roster == nil {
				continue
			}
			if round := s.round.Load(); round != a.round {
				a.round = round
				s.heard.Add(1)
			}
			a.group.hear(a, u.Roster)
		case <-ctx.Done():
			return
		}
	}
}

// token asks for the token that the kubelet would have mounted.
func (s *site) token(ctx context.Context, a *agent) (string, error) {
	granted, err := s.core.CoreV1().ServiceAccounts(a.group.namespace).CreateToken(ctx, "default",
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences: []string{v1.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				Kind:       "Pod",
				APIVersion: "v1",
				Name:       a.name,
				UID:        podUID(a),
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return granted.Status.Token, nil
}

// end ends the agent's process, as SIGKILL does; its kernel closes its connections.
func (a *agent) end() {
	a.mu.Lock()
	stop := a.stop
	a.stop = nil
	a.mu.Unlock()
	if stop != nil {
		stop()
	}
}
