package podesta

import (
	"context"
	"errors"
	"testing"
)

// slow is a context whose children take long to end: each asks it to forget them, as a context does
// that was made by another package.
type slow struct {
	context.Context

	asked, answer chan struct{}
}

// Done never ends; that it is another one than that of the context below makes package context call
// AfterFunc.
func (s slow) Done() <-chan struct{} { return make(chan struct{}) }

// AfterFunc is for package context, which calls what it returns when a child ends.
func (s slow) AfterFunc(func()) func() bool {
	return func() bool {
		close(s.asked)
		<-s.answer
		return true
	}
}

// Contexts end one after the other. Whoever asks one reads that the lock is lost, though it is not
// that one's turn yet; and Lost is told when all have ended.
func TestALossIsSeenWhileContextsEnd(t *testing.T) {
	l := NewLock(nil)
	first := slow{t.Context(), make(chan struct{}), make(chan struct{})}
	l.bind(first)
	second := l.bind(t.Context())
	if err := second.Err(); err != nil {
		t.Fatalf("nothing is lost: %v", err)
	}
	l.begun = true
	over := make(chan struct{})
	go func() { l.lose(errors.New("no renewal")); close(over) }()
	select {
	case <-first.asked:
	case <-over:
		t.Fatal("the lock is lost, and a context of what leads has not ended")
	}
	if err := second.Err(); err == nil || !errors.Is(context.Cause(second), ErrLost) {
		t.Errorf("%v, because %v: want to read that the lock is lost", err, context.Cause(second))
	}
	select {
	case <-second.Done():
	default:
		t.Error("Err is not nil, and Done is open")
	}
	select {
	case <-l.Lost():
		t.Error("Lost is told while contexts have not ended")
	default:
	}
	close(first.answer)
	<-over
	select {
	case <-l.Lost():
	default:
		t.Error("all contexts have ended, and Lost is not told")
	}
}
