package roster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

func TestBackoffDoublesFromASecondToAMinute(t *testing.T) {
	b := newBackoff()
	b.random = func(d time.Duration) time.Duration { return d } // the ceiling
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := b.next(); got != want*time.Second {
			t.Errorf("failure %d: at most %v, want %v", i+1, got, want*time.Second)
		}
	}
	b.reset()
	if got := b.next(); got != time.Second {
		t.Errorf("after success at most %v, want 1 s", got)
	}
}

// Without the CA bundle's file there is no start: the client asks again, ever less often, and ends with its context.
func TestClientWaitsForTheTrustFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var attempts []time.Duration
		c := NewClient(ClientConfig{Address: "127.0.0.1:1", Keyring: identity.NewKeyring(time.Now),
			Logger: slog.New(slog.DiscardHandler),
			Trust: func() ([]byte, error) {
				attempts = append(attempts, time.Since(begun))
				return nil, errors.New("no such file")
			}})
		c.retry.random = func(d time.Duration) time.Duration { return d }
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute+time.Second)
		defer cancel()
		must(t, c.Run(ctx, nil))
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123}
		if len(attempts) != len(want) {
			t.Fatalf("attempts at %v, want %v seconds", attempts, want)
		}
		for i := range want {
			if attempts[i] != want[i]*time.Second {
				t.Errorf("attempt %d at %v, want %v s", i, attempts[i], want[i])
			}
		}
	})
}
