package member

import (
	"sync"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// permission says when an app may act, from what its agent tells it. A permission ends at its
// deadline even if nobody is there to notice, so that is the instant that is said, however late
// this process is itself.
type permission struct {
	say *said.Speaker

	mu    sync.Mutex
	may   bool
	until register.Instant // 0: until told otherwise
	timer *time.Timer
}

// told takes what the agent says at an instant: that the app may act until another one, or that it
// may not.
func (t *permission) told(may bool, until, now register.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if t.timer != nil {
		t.timer.Stop()
	}
	if may && until != 0 && until <= now { // it came too late to be of use
		may = false
	}
	switch {
	case may:
		t.say.Leads()
	case t.may:
		t.say.Ceases(now)
	}
	t.may, t.until = may, until
	if may && until != 0 {
		t.timer = time.AfterFunc(until.Sub(now), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.expire(register.Now())
		})
	}
}

// expire ends a permission whose deadline has passed. The lock is held.
func (t *permission) expire(now register.Instant) {
	if t.may && t.until != 0 && t.until <= now {
		t.may = false
		t.say.Ceases(t.until)
	}
}
