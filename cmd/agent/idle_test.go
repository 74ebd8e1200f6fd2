package main

import (
	"context"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// The container beside a witness's agent lasts until it is told to end.
func TestIdle(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- idle(ctx, nil) }()
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		case <-time.After(24 * time.Hour):
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := idle(t.Context(), []string{"--for=1m"}); err == nil {
		t.Error("it takes arguments")
	}
}
