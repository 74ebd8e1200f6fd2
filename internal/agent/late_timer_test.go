package agent

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/transport"
)

// piped are links whose only event is read from a pipe, as a peer's is from its connection.
type piped struct {
	transport.Links
	events chan transport.Event
}

func (p piped) Events() <-chan transport.Event { return p.events }

// A process that stood still finds its timer and what others sent before it at once, and hears the
// others first. With one thread for Go code, as agents have.
func TestMailComesBeforeALateTimer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, clocks := standing(t)
	mail, peer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	links := piped{Links: a.Links, events: make(chan transport.Event, 1)}
	a.Links = links
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := []byte{0}; ; {
			if _, err := mail.Read(b); err != nil {
				return
			}
			links.events <- transport.Up{Name: "p2"}
		}
	}()
	defer func() { mail.Close(); <-read }()
	late := 0
	const rounds = 100
	for range rounds {
		timer := time.NewTimer(200 * time.Microsecond)
		if _, err := peer.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); time.Since(begun) < 2*stoodStill; { // it stands still
		}
		<-timer.C
		a.next, clocks.reads = clocks.Boot()-stoodStill-1, 0
		if err := a.tick(); err != nil {
			t.Fatal(err)
		}
		if clocks.reads != 2 { // one each for the mail and for the tick
			late++
			<-links.events
		}
	}
	// now and then the kernel stops the thread that reads, on a busy machine
	if late > rounds/10 {
		t.Errorf("in %d of %d rounds it handled the tick without the mail", late, rounds)
	}
}
