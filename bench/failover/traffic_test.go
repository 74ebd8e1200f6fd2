package main

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	begun := time.Now()
	earlier := count{sent{questions: 10, messages: 4}, begun}
	later := count{sent{questions: 40, messages: 4, responses: 5}, begun.Add(10 * time.Second)}
	got, err := later.rate(earlier)
	if want := (sent{questions: 3, responses: 0.5}); got != want || got.total() != 3.5 || err != nil {
		t.Errorf("got %+v, %v in all, %v; want %+v", got, got.total(), err, want)
	}
	if got, err := (count{sent{questions: 3}, later.at}).rate(earlier); err == nil {
		t.Errorf("fewer questions than before: %+v", got)
	}
	if got, err := earlier.rate(earlier); err == nil {
		t.Errorf("in no time: %+v", got)
	}
}
