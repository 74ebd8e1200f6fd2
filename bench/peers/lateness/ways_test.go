package lateness

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// Messages that are held back arrive late.
func TestLateMessagesAreNoted(t *testing.T) {
	ways, err := WatchWays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ways.End()
	cut := register.Now()
	ways.proxy.Cut()
	<-time.After(5 * Least)
	ways.proxy.Mend()
	mended := register.Now()
	for deadline := time.Now().Add(10 * time.Second); ; {
		for _, late := range ways.Within(cut, register.Now()) {
			if late.To >= mended && late.Length() >= 3*Least {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("noted: %v, cut from %d to %d", ways.Within(0, register.Now()), cut, mended)
		}
		<-time.After(time.Millisecond)
	}
}
