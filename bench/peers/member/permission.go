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
	now func() register.Instant

	mu    sync.Mutex
	may   bool
	until register.Instant // 0: until told otherwise
	timer *time.Timer
}

// worthwhile is how long a permission must last for an app to begin to act. Two readings of a clock
// lie between the agent's deadline and ours, so the same deadline comes twice a little apart: an
// app that has ceased at the first does not act for a microsecond more.
const worthwhile = register.Instant(time.Millisecond)

// told takes what the agent says: that the app may act until an instant, or that it may not.
func (t *permission) told(may bool, until register.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.expire(now)
	if t.timer != nil {
		t.timer.Stop()
	}
	if may && until != 0 && (until <= now || !t.may && until <= now+worthwhile) {
		may = false // it came too late to be of use
	}
	switch {
	case may:
		t.say.Leads(now)
	case t.may:
		t.say.Ceases(now)
	}
	t.may, t.until = may, until
	if may && until != 0 {
		t.timer = time.AfterFunc(until.Sub(now), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.expire(t.now())
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
