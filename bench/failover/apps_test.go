package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTheNextAppThatMayAct(t *testing.T) {
	a := newApps(true)
	defer a.close()
	a.told("p5", true)
	struck := time.Now()
	a.told("p5", true) // said again, but it could act before

	short, cancel := context.WithCancelCause(t.Context())
	cancel(errRestless)
	if p, _, err := a.next(short, struck); !errors.Is(err, errRestless) {
		t.Fatalf("%q may act, or %v; nobody was told since", p, err)
	}
	go func() {
		a.told("p5", false)
		a.told("p4", true)
	}()
	p, at, err := a.next(t.Context(), struck)
	if err != nil || p != "p4" || !at.After(struck) {
		t.Errorf("%q may act since %v (%v), want p4, after %v", p, at, err, struck)
	}
	a.told("p4", false)
	a.told("p5", true)
	if p, _, err := a.next(t.Context(), struck); err != nil || p != "p5" {
		t.Errorf("%q may act (%v), want p5, which was away", p, err)
	}
}
