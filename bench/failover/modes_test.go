package main

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	var d []time.Duration
	for i := 20; i > 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	if got, want := spread(d), "10.0 | 18.0 | 20.0 | 20.0"; got != want {
		t.Errorf("spread is %s, want %s", got, want)
	}
}

func TestWakings(t *testing.T) {
	w := wakings{{acts: true, after: 3 * time.Millisecond}, {after: time.Millisecond}, {after: 2 * time.Millisecond}}
	if got, want := w.String(), "503: 2, 200: 1, within 3.0 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
