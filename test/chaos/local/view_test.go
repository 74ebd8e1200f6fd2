package main

import (
	"context"
	"testing"

	"github.com/podesta-dev/podesta/test/register"
)

func entry(group, process string, heard register.Instant, change ...func(*register.Entry)) register.Entry {
	e := register.Entry{Accepted: true, Write: register.Write{Group: group, Process: process, Epoch: 1, Heard: heard, Checked: heard, Deadline: heard + 10}}
	for _, c := range change {
		c(&e)
	}
	return e
}

// What is awaited is the first write under a permission told after the instant, not any write.
func TestWhoWasToldAfterAnInstant(t *testing.T) {
	v := &view{}
	w := v.expect("g", 100)
	v.note(entry("g", "old", 90))
	v.note(entry("g", "checked again", 90, func(e *register.Entry) { e.Checked = 120 }))
	v.note(entry("other", "of another group", 110))
	v.note(entry("g", "refused", 110, func(e *register.Entry) { e.Accepted = false }))
	if last := v.last("g"); last.Process != "checked again" {
		t.Errorf("the last that was accepted is of %s", last.Process)
	}
	v.note(entry("g", "new", 110))
	v.note(entry("g", "newer", 130))
	if e, err := v.await(t.Context(), w); err != nil || e.Process != "new" {
		t.Errorf("found %s, %v", e.Process, err)
	}
}

// A Classic process is told once over its session.
func TestAClassicSessionIsToldOnce(t *testing.T) {
	v := &view{}
	w := v.expect("g", 100)
	v.note(entry("g", "checked before", 50, func(e *register.Entry) { e.Session, e.Deadline = true, 0 }))
	v.note(entry("g", "checked after", 50, func(e *register.Entry) { e.Session, e.Deadline, e.Checked = true, 0, 110 }))
	if e, err := v.await(t.Context(), w); err != nil || e.Process != "checked after" {
		t.Errorf("found %s, %v", e.Process, err)
	}
}

func TestNobodyIsAwaitedForEver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := &view{}
	if _, err := v.await(ctx, v.expect("g", 0)); err == nil || len(v.waits) != 0 {
		t.Errorf("error %v, %d still wait", err, len(v.waits))
	}
}
