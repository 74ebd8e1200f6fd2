package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/apphealth"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
	"github.com/podesta-dev/podesta/test/port"
)

// The roster says how apps are probed; each agent probes its own app, at the host where it serves
// it. Of two apps on one port, the process of the unhealthy one hands over, and takes over again
// when its app is healthy.
func TestRosterHasTheAppProbed(t *testing.T) {
	apps, unhealthy, appPort := twoApps(t)
	dir, links := t.TempDir(), []string{port.Of(t), port.Of(t)}
	file := filepath.Join(dir, "roster.json")
	text := fmt.Sprintf(
		`{"group": "g", "safety": "Classic", "processes": [
			{"name": "a", "address": %q, "priority": 1},
			{"name": "b", "address": %q, "priority": 2}],
		"appHealth": {"httpGet": {"path": "/healthz", "port": %s},
			"failureThreshold": 1, "successThreshold": 1}}`,
		links[0],
		links[1],
		appPort,
	)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for i, name := range []string{"a", "b"} {
		o := optionsOf(t, dir, file, name, filepath.Join(dir, "state-"+name), links[i], apps[i])
		go func() {
			done <- serves(t, ctx, o)
			stop() // or the test would wait for it
		}()
	}
	coordinators := follow(t, apps[0])
	awaitName(t, coordinators, "b")
	unhealthy.Store(true)
	awaitName(t, coordinators, "a")
	unhealthy.Store(false)
	awaitName(t, coordinators, "b")
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// twoApps starts two apps on one port of two addresses of this machine; the second is unhealthy
// while unhealthy is set. It returns the addresses at which their agents serve them.
func twoApps(t *testing.T) (agents []string, unhealthy *atomic.Bool, port string) {
	t.Helper()
	unhealthy = new(atomic.Bool)
	first, second := listenTwice(t)
	_, port, _ = net.SplitHostPort(second.Addr().String())
	for i, l := range []net.Listener{first, second} {
		app := &httptest.Server{
			Listener: l,
			Config: &http.Server{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if i == 1 && unhealthy.Load() {
						w.WriteHeader(http.StatusInternalServerError)
					}
				}),
			},
		}
		app.Start()
		t.Cleanup(app.Close)
		free := listen(t, fmt.Sprintf("127.0.0.%d:0", i+1))
		agents = append(agents, free.Addr().String())
		_ = free.Close()
	}
	return agents, unhealthy, port
}

// listenTwice listens on one port of two addresses: on the next one if somebody has the first.
func listenTwice(t *testing.T) (first, second net.Listener) {
	t.Helper()
	for range 100 {
		second = listen(t, "127.0.0.2:0")
		_, port, _ := net.SplitHostPort(second.Addr().String())
		var err error
		if first, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return first, second
		}
		t.Log(err)
		_ = second.Close()
	}
	t.Fatal("no port is free on both addresses")
	return nil, nil
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// --app-health takes precedence: while it is set, spec.appHealth of the group has no effect.
func TestFlagWins(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		flag := &apphealth.Probe{
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 3,
			SuccessThreshold: 1,
			Check: func(context.Context) error {
				return errors.New("as the flag has it")
			},
		}
		s := &sidecar{
			options: options{health: flag},
			prober:  apphealth.NewProber(),
			logger:  slog.New(slog.DiscardHandler),
		}
		s.prober.Use(flag)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go s.prober.Run(ctx)
		begun := time.Now()
		for range 2 {
			<-time.After(time.Second)
			s.probe(roster.AppHealth{
				Handler:          roster.TCPSocket,
				Port:             1,
				Period:           time.Second,
				Timeout:          time.Second,
				FailureThreshold: 1,
				SuccessThreshold: 1,
			})
			s.probe(roster.AppHealth{})
		}
		if got := <-s.prober.Changes(); got == nil || got.Error() != "as the flag has it" ||
			time.Since(begun) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), got)
		}
	})
}

func TestAppIsProbedWhereItsAgentServesIt(t *testing.T) {
	for served, want := range map[string]string{
		"127.0.0.1:4040":  "127.0.0.1",
		"127.64.0.7:4040": "127.64.0.7",
		"0.0.0.0:4040":    "127.0.0.1",
		"[::]:4040":       "127.0.0.1",
		"[::1]:4040":      "::1",
	} {
		address, err := net.ResolveTCPAddr("tcp", served)
		if err != nil {
			t.Fatal(err)
		}
		if got := appHost(address); got != want {
			t.Errorf("served at %s, probed at %s, want %s", served, got, want)
		}
	}
}
