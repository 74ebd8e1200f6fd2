package roster

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// metricsServer is what managers serve metrics with: a certificate of the true CA, with a DNS name.
// It returns the errors of its handshakes; nil where it was taken for something.
func metricsServer(t *testing.T, m *manager) (to *manager, handshakes chan error) {
	t.Helper()
	own, err := m.authority.IssueServer("podesta-metrics.podesta-system.svc", time.Now())
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	handshakes = make(chan error)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			err = tls.Server(conn, &tls.Config{
				MinVersion:   tls.VersionTLS13,
				NextProtos:   []string{identity.RosterProtocol},
				Certificates: []tls.Certificate{*own},
			}).HandshakeContext(t.Context())
			_ = conn.Close()
			select {
			case handshakes <- err:
			case <-t.Context().Done():
			}
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return &manager{address: listener.Addr().String(), bundle: m.bundle}, handshakes
}

// Whoever is led to the port of metrics, or to a thief of its key, does not take it for the
// manager: it tells it no token, and follows nothing that it sends.
func TestTheMetricsServerIsNotTheManager(t *testing.T) {
	for name, ago := range map[string]time.Duration{
		"with a certificate":                time.Hour,
		"with a certificate that has ended": identity.Lifetime + time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t)
			to, handshakes := metricsServer(t, m)
			g, failed := joined(t, m, to, m.bundle, ago)
			g.run(t)
			for range 3 {
				for told := false; !told; {
					select {
					case err := <-handshakes:
						if err == nil {
							t.Error("the agent ends the handshake: it would send its token")
						}
					case err := <-failed:
						if told = true; !strings.Contains(err.Error(), "one URI as its only name") {
							t.Errorf("the agent says %v", err)
						}
					case u := <-g.updates:
						t.Fatalf("the agent is told %+v", u)
					case <-time.After(patience):
						t.Fatal("the agent does not connect")
					}
				}
			}
		})
	}
}
