package account

import (
	"context"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

func add(b *Book, at register.Instant, member string, word said.Word, name string) {
	b.Add(Entry{Member: member, Line: said.Line{At: at, Word: word, Name: name}})
}

func TestAgreement(t *testing.T) {
	b, both := NewBook(), []string{"p1", "p2"}
	if _, _, ok := b.Agreement(both); ok {
		t.Error("nobody has said anything, and they agree")
	}
	add(b, 1, "p1", said.Names, "p2")
	add(b, 3, "p2", said.Names, "p1")
	if _, _, ok := b.Agreement(both); ok {
		t.Error("they name two, and agree")
	}
	add(b, 7, "p1", said.Names, "p1")
	if leader, since, ok := b.Agreement(both); !ok || leader != "p1" || since != 7 {
		t.Errorf("%q since %d, %v, want p1 since 7", leader, since, ok)
	}
	add(b, 9, "p2", Killed, "")
	if _, _, ok := b.Agreement(both); ok {
		t.Error("one is dead, and they agree")
	}
}

func TestAwait(t *testing.T) {
	b, both := NewBook(), []string{"p1", "p2"}
	add(b, 1, "p1", said.Names, "p1")
	add(b, 2, "p2", said.Names, "p1")
	found := make(chan register.Instant, 1)
	go func() {
		_, since, err := b.Await(t.Context(), both, func(l string) bool { return l != "p1" })
		if err != nil {
			t.Error(err)
		}
		found <- since
	}()
	add(b, 5, "p1", said.Names, "p2")
	add(b, 6, "p2", said.Names, "p2")
	if since := <-found; since != 6 {
		t.Errorf("since %d, want 6", since)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := b.Await(ended, []string{"p1", "p3"}, func(string) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "p3 names nobody") {
		t.Errorf("%v: want to read that p3 names nobody", err)
	}
}

func TestLeader(t *testing.T) {
	b := NewBook()
	for _, c := range []struct {
		member string
		word   said.Word
		leader string
	}{
		{"p1", said.Leads, "p1"}, {"p2", said.Leads, ""}, {"p1", said.Ceases, "p2"},
		{"p2", Stopped, ""}, {"p1", said.Leads, "p1"}, {"p2", Continued, ""},
		{"p1", said.Ceases, "p2"}, {"p2", Killed, ""},
	} {
		add(b, 1, c.member, c.word, "")
		leader, ok := b.Leader()
		if ok != (c.leader != "") || ok && leader != c.leader {
			t.Errorf("after %s %s: %q leads, %v, want %q", c.member, c.word, leader, ok, c.leader)
		}
	}
}
