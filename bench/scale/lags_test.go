package main

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var l lags
	if l.quantile(0.5) != 0 {
		t.Error("nothing has a median")
	}
	for i := 100; i > 0; i-- {
		l = append(l, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0.5: 50, 0.99: 99, 1: 100} {
		if got := l.quantile(q); got != want {
			t.Errorf("%v of 1 to 100 is %d, want %d", q, got, want)
		}
	}
}
