package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/test/flood"
	"github.com/podesta-dev/podesta/test/port"
)

func TestMain(m *testing.M) {
	if flood.Attacker() {
		return
	}
	goleak.VerifyTestMain(m)
}

// The agent is small because it links neither Kubernetes' libraries nor gRPC's.
func TestWhatIsNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		for _, large := range []string{"k8s.io/", "sigs.k8s.io/", "google.golang.org/grpc"} {
			if strings.HasPrefix(path, large) {
				t.Errorf("the agent links %s", path)
			}
		}
	}
}

func TestBadFlagsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--manager HOST:PORT in a cluster, or --roster FILE outside one"},
		{[]string{"--manager", "a:1", "--roster", "b"}, "are both set"},
		{[]string{"--roster", "b"}, "`agent keys --roster FILE --out DIR` creates them"},
		{[]string{"--manager", "a:1", "--key", "k"}, "require --roster"},
		{[]string{"--manager", "nowhere"}, `--manager "nowhere": must be host:port`},
		{
			[]string{"--manager", "a:1", "--app-address", "4040"},
			`--app-address "4040": must be host:port`,
		},
		{[]string{"--manager", "a:1", "--log-level", "loud"}, "must be debug, info, warn or error"},
		{[]string{"--manager", "a:1", "elect"}, `unexpected argument "elect"`},
		{
			[]string{"--roster", "/nonexistent", "--certificate", "/c", "--key", "/k"},
			"no such file",
		},
		{[]string{"keys"}, "usage: agent keys --roster FILE --out DIR"},
		{[]string{"init"}, "usage: agent init --state-dir DIR"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("agent %s: got %v, want %q", strings.Join(c.args, " "), err, c.want)
		}
	}
}

// Outside Kubernetes: `agent keys`, then two agents with --roster, over real TLS links; one ends,
// the other takes over.
func TestWithoutAManager(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "roster.json")
	links := []string{port.Of(t), port.Of(t)}
	text := fmt.Sprintf(
		`{"group": "g", "processes": [
			{"name": "a", "address": %q, "priority": 1},
			{"name": "b", "address": %q, "priority": 2}]}`,
		links[0],
		links[1],
	)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run keeps the CA
		if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
			t.Fatal(err)
		}
	}
	apps := []string{port.Of(t), port.Of(t)}
	stops, done := make([]context.CancelFunc, 2), make([]chan error, 2)
	for i, name := range []string{"a", "b"} {
		o, err := parse(
			[]string{
				"--roster",
				file,
				"--certificate",
				filepath.Join(dir, name+".crt"),
				"--key",
				filepath.Join(dir, name+".key"),
				"--trust-file",
				filepath.Join(dir, "ca.crt"),
				"--state-dir",
				filepath.Join(dir, "state-"+name),
				"--listen",
				links[i],
				"--app-address",
				apps[i],
				"--status-address",
				"127.0.0.1:0",
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stops[i], done[i] = stop, make(chan error, 1)
		go func() { done[i] <- serves(t, ctx, o) }()
	}
	coordinators := follow(t, apps[0])
	awaitName(t, coordinators, "b")
	stops[1]()
	awaitName(t, coordinators, "a")
	stops[0]()
	for i := range done {
		if err := <-done[i]; err != nil {
			t.Errorf("agent %d: %v", i, err)
		}
	}
}

// Connections from one address to the status port do not lock out probes from other addresses, also
// while the agent waits for a roster.
func TestStatusPortIsBounded(t *testing.T) {
	address := port.Of(t)
	o, err := parse(
		[]string{"--manager", "127.0.0.1:9", "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0",
			"--app-address", "127.0.0.1:0", "--status-address", address},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, o, logger(t)) }()
	ready := func() error {
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(
			"http://" + address + "/readyz",
		)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	for begun := time.Now(); ready() != nil; {
		if time.Since(begun) > patience {
			t.Fatal("it never listens")
		}
	}
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for i := range connlimit.StrangersOfAddress + 1 {
		conn, err := elsewhere.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i < connlimit.StrangersOfAddress {
			continue
		}
		// an accepted connection that stays silent is closed after five seconds
		if err := conn.SetReadDeadline(time.Now().Add(4 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) &&
			!errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("one connection too many: %v, want it to be closed", err)
		}
	}
	if err := ready(); err != nil {
		t.Errorf("a probe from another address: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// patience bounds what a test waits for: if an agent fails, its log says why.
const patience = 2 * time.Minute

// follow reads the event stream of an agent's app API, once the agent listens.
func follow(t *testing.T, address string) *bufio.Scanner {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			"http://"+address+"/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			t.Cleanup(func() { response.Body.Close() })
			return bufio.NewScanner(response.Body)
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// logger writes what agents log into what the test prints if it fails.
func logger(t *testing.T) *slog.Logger {
	l := &testLog{to: t.Output()}
	t.Cleanup(l.end)
	return slog.New(slog.NewTextHandler(l, nil))
}

// testLog is what a test prints until it ends: an agent may outlive a test that fails.
type testLog struct {
	mu sync.Mutex
	to io.Writer
}

func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = io.Discard
}

// serves runs an agent. That it ends by itself fails the test.
func serves(t *testing.T, ctx context.Context, o options) error { //nolint:revive // it is the test's
	err := serve(ctx, o, logger(t))
	if ctx.Err() == nil {
		t.Errorf("an agent has ended: %v", err)
	}
	return err
}

func awaitName(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		var event struct{ Name string }
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok &&
			json.Unmarshal([]byte(data), &event) == nil &&
			event.Name == want {
			return
		}
	}
	t.Fatalf("the stream ended before it named %s: %v", want, lines.Err())
}
