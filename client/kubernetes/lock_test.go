package podesta

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// A permission that ends while client-go still waits, for a Lease for example, is no loss: nothing
// leads by it, and client-go would not notice.
func TestALossBeforeItLeadsIsNotFinal(t *testing.T) {
	a := fakeagent.Start()
	defer a.Close()
	l := NewLock(&agent.Client{URL: a.URL})
	if err := l.use(); err != nil {
		t.Fatal(err)
	}
	base := l.bind(t.Context())
	late, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	get := func() error { _, _, err := l.Get(late); return err }
	a.Grant(7, long)
	if err := get(); err != nil {
		t.Fatal(err)
	}
	a.Revoke()
	if err := a.Await(late.Done(), func(open, ever int) bool { return open == 1 && ever == 2 }); err != nil {
		t.Fatal(err)
	}
	if err := l.holds(); !errors.Is(err, errNotPermitted) || base.Err() != nil {
		t.Errorf("%v, and what has begun before has ended: %v", err, base.Err())
	}
	waits := make(chan error, 1)
	go func() { waits <- get() }()
	a.Grant(9, long)
	if err := receive(t, waits, "it is no candidate any more"); err != nil {
		t.Fatal(err)
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "a", LeaseDurationSeconds: 1}
	if err := l.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if epoch, ok := fence.EpochOf(base); !ok || epoch != 9 {
		t.Errorf("it leads under %d", epoch)
	}
	a.Revoke()
	receive(t, base.Done(), "what leads goes on")
	lost(t, l)
	close(l.done)
}
