package group

import (
	"math"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// The API server allows the manager so many writes, for the groups of all tenants. A process that
// comes and goes all the time changes its group's status, and the pod with the role label, as often
// as news is gathered (see debounce). So these two writes come out of a budget, a token bucket per
// group object:
//
//   - A full budget covers writeBurst writes: of 20 coordinators that are killed one after the
//     other, and come back, the status shows every step. It gets one more every writeEvery.
//   - Nothing is queued and no worker sleeps: the group is reconciled again when the budget covers
//     the writes, and what is written then is the newest. Both writes of a pass wait together, so
//     no pod gets the label that the status does not name.
//   - Taking the role label off a pod, persisting a roster and handing it out (MC1), and the
//     Service never wait, and take nothing out of the budget.
const (
	writeBurst = 100
	writeEvery = 500 * time.Millisecond
)

// writeBudget is what is left of a group's budget at a time. The zero value is a full one. A copy
// shares it: like all of a state, it belongs to one pass at a time.
type writeBudget struct{ bucket *rate.Limiter }

func newWriteBudget() writeBudget {
	return writeBudget{rate.NewLimiter(rate.Every(writeEvery), writeBurst)}
}

// wait returns how long a pass has to wait until the budget covers so many writes; zero: it does.
func (b writeBudget) wait(writes int, now time.Time) time.Duration {
	if b.bucket == nil {
		return 0
	}
	missing := float64(writes) - b.bucket.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	// A millisecond on top: the bucket counts in fractions, and is not asked again just before.
	return time.Duration(math.Ceil(missing*float64(writeEvery))) + time.Millisecond
}

// spend takes a write out of the budget. A write that fails counts, too: it was sent.
func (b writeBudget) spend(now time.Time) {
	if b.bucket != nil {
		b.bucket.AllowN(now, 1)
	}
}

// withinBudget returns the decision without those of its writes that have to wait for the budget.
func withinBudget(o observation, d decision) decision {
	writes := 0
	if d.status != nil && changed(d.status.status, o.published) {
		writes++
	}
	if d.role.set != nil {
		writes++
	}
	wait := o.writes.wait(writes, o.now)
	if wait == 0 {
		return d
	}
	d.status, d.role.set = nil, nil
	d.again = sooner(wait, d.again)
	return d
}

// changed reports whether a status differs from the published one, so that it is written. Its
// roster is written apart.
func changed(is, published v1.ElectionGroupStatus) bool {
	is.Roster, published.Roster = nil, nil
	return !equality.Semantic.DeepEqual(is, published)
}
