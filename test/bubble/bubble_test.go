package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// With the race detector and synctest.Test this program dies within a tenth of a second on two
// processors.
func TestManyReadTimersThatAreDue(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	bubble.Test(t, func(t *testing.T) {
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				timer := time.NewTimer(time.Hour)
				for range 20000 {
					timer.Reset(0)
					select {
					case <-timer.C:
					default:
						t.Error("a timer that was due did not fire")
						return
					}
				}
			})
		}
		readers.Wait()
	})
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("there are %d processors after the bubble; there were %d", after, before)
	}
}
