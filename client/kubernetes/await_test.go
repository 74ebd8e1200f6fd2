package podesta

import (
	"errors"
	"testing"
	"time"
)

const (
	long     = time.Minute // a permission that does not end during a test, unless nobody renews it
	patience = 2 * time.Minute
)

func receive[T any](t *testing.T, from <-chan T, otherwise string) (received T) {
	t.Helper()
	select {
	case received = <-from:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
	return received
}

// lost checks that the lock stays lost.
func lost(t *testing.T, l *Lock) {
	t.Helper()
	if _, _, err := l.Get(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("Get: %v; want ErrLost", err)
	}
}
