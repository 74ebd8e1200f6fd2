package history

import (
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// owners is which process each epoch belongs to, with its pod where that is known.
type owners map[int64]Interval

// own notes an owner, and reports whether the epoch is another's already.
func (o owners) own(epoch int64, process, uid string) (other Interval, taken bool) {
	before, ok := o[epoch]
	switch {
	case !ok:
		o[epoch] = Interval{Process: process, UID: uid}
		return before, false
	case before.UID == "":
		before.UID = uid
		o[epoch] = before
	}
	return before, before.Process != process || uid != "" && before.UID != uid
}

// epochs checks that epochs only grow, of all that apps were told and agents held, and that each
// belongs to one process.
func (h History) epochs(r *Report, group string, all []Interval) {
	owners := owners{}
	own := func(epoch int64, process, uid string, at register.Instant) {
		if other, taken := owners.own(epoch, process, uid); taken {
			r.violate(TwoOwners, at, "%d belongs to %s %s, and to %s %s", epoch, other.Process, other.UID,
				process, uid)
		}
	}
	highest := Interval{}
	for _, i := range all {
		if i.Epoch == 0 {
			r.violate(WithoutAnyEpoch, i.From, "%s was told that it may act", i.Process)
			continue
		}
		own(i.Epoch, i.Process, i.UID, i.From)
		if i.Epoch < highest.Epoch {
			r.violate(EpochBack, i.From, "%s was told %d after %s was told %d", i.Process, i.Epoch,
				highest.Process, highest.Epoch)
		} else {
			highest = i
		}
	}
	held := map[string]int64{} // highest, by process
	for _, t := range h.leases(group, Holds) {
		own(t.Epoch, t.Process, "", t.At)
		if last := held[t.Process]; t.Epoch <= last {
			r.violate(EpochBack, t.At, "%s held %d after it held %d", t.Process, t.Epoch, last)
		}
		held[t.Process] = max(held[t.Process], t.Epoch)
	}
}

func (h History) leases(group string, state State) []Lease {
	var of []Lease
	for _, t := range h.Leases {
		if t.Group == group && t.State == state && t.At <= h.End {
			of = append(of, t)
		}
	}
	return of
}

// tenancy is an incarnation's lease under an epoch. Two may claim an epoch, also two incarnations
// of a process one after the other; a majority promises it to one.
type tenancy struct {
	process     string
	incarnation uint64
	epoch       int64
}

func (l Lease) tenancy() tenancy { return tenancy{l.Process, l.Incarnation, l.Epoch} }

// releases checks that an epoch is released only when nobody relies on it: the agent hands out no
// more, and what it handed out has ended. A claim that came to nothing may be given back, also if
// another's under the same number succeeds.
func (h History) releases(r *Report, group string, all []Interval) {
	held, stopped := map[tenancy]register.Instant{}, map[tenancy]register.Instant{}
	for _, t := range h.leases(group, Holds) {
		held[t.tenancy()] = t.At
	}
	for _, t := range h.leases(group, Stops) {
		stopped[t.tenancy()] = t.At
	}
	for _, t := range h.leases(group, Releases) {
		of := t.tenancy()
		if til := toldUntil(all, of, t.At, held); til > t.At {
			r.violate(ReleasedEarly, t.At, "%s released %d, and told its app to rely on it for %v more",
				t.Process, t.Epoch, til.Sub(t.At))
		}
		_, holds := held[of]
		if at, ok := stopped[of]; holds && (!ok || at > t.At) {
			r.violate(ReleasedFirst, t.At, "%s released %d", t.Process, t.Epoch)
		}
	}
}

// toldUntil is until when an incarnation that released an epoch had told its app that it may act
// under it. The app does not know which incarnation told it. So all that it was told counts, but
// what it was told when a later incarnation had got the epoch after that.
func toldUntil(
	all []Interval, by tenancy, released register.Instant, held map[tenancy]register.Instant,
) register.Instant {
	til := register.Instant(0)
	for _, i := range all {
		if i.Process == by.process && i.Epoch == by.epoch && !heldByLater(i, by, released, held) {
			til = max(til, i.To)
		}
	}
	return til
}

// heldByLater reports whether another incarnation got the epoch after it was released, and before
// the app was told of it.
func heldByLater(
	told Interval, by tenancy, released register.Instant, held map[tenancy]register.Instant,
) bool {
	for t, since := range held {
		if t.process == by.process && t.epoch == by.epoch && t != by &&
			released < since && since <= told.From {
			return true
		}
	}
	return false
}

// replay plays the register's log again: it must have taken and refused as its rule says, and only
// what somebody was told.
func (h History) replay(r *Report, group string) {
	permitted := h.permits(group)
	highest := register.Entry{}
	for _, e := range h.Entries {
		switch {
		case e.Group != group || e.At > h.End:
			continue
		case e.Accepted && e.Epoch < highest.Epoch:
			r.violate(StaleAccepted, e.At, "%s wrote under %d after %s wrote under %d", e.Process, e.Epoch,
				highest.Process, highest.Epoch)
		case !e.Accepted && e.Epoch >= highest.Epoch:
			r.violate(FreshRefused, e.At, "%s under %d, though the highest was %d", e.Process, e.Epoch,
				highest.Epoch)
		case e.Accepted:
			highest = e
		}
		if !permitted[permit{e.UID, e.Epoch}] {
			r.violate(NeverPermitted, e.At, "%s wrote under %d", e.Process, e.Epoch)
		}
	}
}

type permit struct {
	uid   string
	epoch int64
}

// permits is which pods were ever told which epochs, also just before a SIGKILL.
func (h History) permits(group string) map[permit]bool {
	permits := map[permit]bool{}
	for _, life := range h.Lives {
		for _, line := range life.Lines {
			if life.Group == group && line.Kind == writer.Told {
				permits[permit{life.UID, line.Epoch}] = true
			}
		}
	}
	return permits
}
