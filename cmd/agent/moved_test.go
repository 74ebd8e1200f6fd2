package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/test/port"
)

// pod is the one pod of a cluster, with the group of its label. It is a roster.Admission.
type pod struct {
	identity.Name
	group atomic.Pointer[string]
}

func (p *pod) Admit(context.Context, string) (identity.Name, error) {
	n := p.Name
	n.Group = *p.group.Load()
	return n, nil
}

func (*pod) Present(identity.Name) bool { return true }

func (*pod) Claims(string) string { return "shop" }

func (p *pod) Readmit(_ context.Context, name identity.Name) error {
	if group := *p.group.Load(); group != name.Group {
		return roster.Moved("the pod belongs to group %q now", group)
	}
	return nil
}

// A pod that is relabelled takes part in its new group after one restart of the agent's container,
// with the state directory that it has: what it promised in the first group is kept.
func TestARelabelledPodChangesItsGroup(t *testing.T) {
	p := &pod{Name: identity.Name{Namespace: "shop", Pod: "p-0", UID: "u-0"}}
	p.group.Store(new("scheduler"))
	folder := t.TempDir()
	server, address := serveRosters(t, p, roster.NewSightings(time.Now), folder)
	path := filepath.Join(folder, "state")
	dir, err := statedir.Open(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id := dir.ID
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	server.Publish(guardedRoster("scheduler", id))

	first := startAgent(t, address, folder)
	awaitName(t, follow(t, first.app), "p-0")
	p.group.Store(new("billing"))
	without := guardedRoster("scheduler", id)
	without.Generation++
	without.Processes = []roster.Process{{Name: "p-1", UID: "u-1", Voter: true, StateID: "OTHER"}}
	server.Publish(without)
	server.Publish(guardedRoster("billing", id))
	moved := (*roster.MovedError)(nil)
	if err := <-first.ended; !errors.As(err, &moved) ||
		!strings.Contains(err.Error(), `the pod belongs to group "billing" now`) {
		t.Fatalf("the agent ended with %v, want it to say that the pod has moved", err)
	}

	second := startAgent(t, address, folder) // as the kubelet does
	awaitName(t, follow(t, second.app), "p-0")
	second.stop()
	if err := <-second.ended; err != nil {
		t.Errorf("in its new group the agent ended with %v", err)
	}
	if dir, err = statedir.Open(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	saved, err := dir.Load()
	if err != nil || saved.Lease.Group != "billing-1" || saved.Lease.Earlier == nil ||
		saved.Lease.Earlier.Group != "scheduler-1" || saved.Lease.Earlier.Highest == 0 {
		t.Errorf("the state directory holds %+v, %v; want promises in both groups", saved.Lease, err)
	}
}

// The state directory may hold the roster of another group than the certificate: after a reboot,
// and a crash after the agent joined the group that its pod was moved to meanwhile.
func TestTheRosterOfAnotherGroupIsNotUsed(t *testing.T) {
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := identity.Name{Namespace: "shop", Group: "billing", Pod: "p-0", UID: "u-0"}
	if err := issue(authority, folder, time.Now().Add(time.Hour), name); err != nil {
		t.Fatal(err)
	}
	certificate, key, _, err := readAll(filepath.Join(folder, "p-0.crt"),
		filepath.Join(folder, "p-0.key"), os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := statedir.Open(filepath.Join(folder, "state"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s := &sidecar{
		dir:     dir,
		keyring: identity.NewKeyring(time.Now),
		logger:  slog.New(slog.DiscardHandler),
	}
	if err := s.keyring.SetCertificate(certificate, key); err != nil {
		t.Fatal(err)
	}
	kept, sent := guardedRoster("scheduler", dir.ID), guardedRoster("billing", dir.ID)
	s.saved.Roster = &kept
	updates := make(chan roster.Update, 1)
	updates <- roster.Update{Roster: &sent}
	client := roster.NewClient(roster.ClientConfig{}) // it runs nowhere
	r, err := s.firstRoster(t.Context(), updates, client)
	if err != nil || r == nil || r.Group != "billing" {
		t.Errorf("it begins with %+v, %v; want the roster of the certificate's group", r, err)
	}
	same := guardedRoster("billing", dir.ID)
	s.saved.Roster = &same
	if r, err := s.firstRoster(t.Context(), nil, client); err != nil || r != &same {
		t.Errorf("it begins with %+v, %v; want the one that it has kept", r, err)
	}
}

// started is an agent with the state directory in its folder.
type started struct {
	app   string // the address of its app API
	stop  func()
	ended <-chan error
}

func startAgent(t *testing.T, manager, folder string) started {
	t.Helper()
	app := port.Of(t)
	o, err := parse([]string{
		"--manager", manager,
		"--state-dir", filepath.Join(folder, "state"),
		"--trust-file", filepath.Join(folder, "ca.crt"),
		"--token-file", filepath.Join(folder, "token"),
		"--listen", "127.0.0.1:0",
		"--status-address", "127.0.0.1:0",
		"--app-address", app,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o, logger(t)) }()
	return started{app: app, stop: stop, ended: ended}
}

// serveRosters starts the manager's end of the protocol, and writes what agents need to join into a
// folder.
func serveRosters(t *testing.T, admission roster.Admission, sightings *roster.Sightings,
	folder string) (server *roster.Server, address string) {
	t.Helper()
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bundle, _, err := authority.PEM()
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.IssueManager(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	keyring := identity.NewKeyring(time.Now)
	if err := errors.Join(
		keyring.SetTrust(bundle),
		keyring.SetCertificate(certificate, key),
		os.WriteFile(filepath.Join(folder, "ca.crt"), bundle, 0o600),
		os.WriteFile(filepath.Join(folder, "token"), []byte("token"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = roster.NewServer(roster.ServerConfig{
		Keyring:   keyring,
		Authority: authority,
		Trust:     bundle,
		Admission: admission,
		Sightings: sightings,
		Now:       time.Now,
		Logger:    slog.New(slog.DiscardHandler),
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return server, listener.Addr().String()
}

// guardedRoster returns the first roster of a group whose only voter is p-0.
func guardedRoster(group, stateID string) roster.Roster {
	return roster.Roster{
		Namespace:  "shop",
		Group:      group,
		GroupUID:   group + "-1",
		Generation: 1,
		Algorithm:  "Bully",
		Safety:     roster.Guarded,
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
		Lease:      time.Second,
		Preemption: roster.Delayed,
		Stable:     5 * time.Second,
		Processes: []roster.Process{
			{Name: "p-0", UID: "u-0", Priority: 1, Voter: true, StateID: stateID},
		},
	}
}
