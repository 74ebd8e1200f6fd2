package roster

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// What it costs an agent to find nobody at the manager's address. All agents of a cluster do so a
// few times a second while no manager leads.
func BenchmarkNobodyThere(b *testing.B) {
	authority, err := identity.NewAuthority(time.Now())
	must(b, err)
	bundle, _, err := authority.PEM()
	must(b, err)
	keyring := identity.NewKeyring(time.Now)
	must(b, keyring.SetTrust(bundle))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	must(b, listener.Close())
	c := NewClient(ClientConfig{Address: listener.Addr().String(), Keyring: keyring, Logger: slog.New(slog.DiscardHandler)})
	for b.Loop() {
		if c.follow(b.Context(), nil) == nil {
			b.Fatal("somebody is there")
		}
	}
}
