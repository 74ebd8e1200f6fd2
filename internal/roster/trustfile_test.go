package roster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
)

// Without the CA bundle's file there is no start: the client looks for it four times a second, for
// that bothers nobody, and ends with its context.
func TestClientWaitsForTheTrustFile(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		looks := 0
		c := NewClient(ClientConfig{Address: "127.0.0.1:1", Keyring: identity.NewKeyring(time.Now),
			Logger: slog.New(slog.DiscardHandler),
			Trust: func() ([]byte, error) {
				looks++
				return nil, errors.New("no such file")
			}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute+trustPoll/2)
		defer cancel()
		must(t, c.Run(ctx, nil))
		if want := 1 + int(time.Minute/trustPoll); looks != want {
			t.Errorf("looked %d times in a minute, want %d", looks, want)
		}
	})
}
