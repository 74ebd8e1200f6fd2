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

// tenancy is a process's lease under an epoch. Two may claim an epoch; a majority promises it to
// one.
type tenancy struct {
	process string
	epoch   int64
}

// releases checks that an epoch is released only when nobody relies on it: the agent hands out no
// more, and what it handed out has ended. A claim that came to nothing may be given back, also if
// another's under the same number succeeds.
func (h History) releases(r *Report, group string, all []Interval) {
	last := map[tenancy]Interval{} // that was told and ends last
	for _, i := range all {
		t := tenancy{i.Process, i.Epoch}
		if before, ok := last[t]; !ok || before.To < i.To {
			last[t] = i
		}
	}
	held, stopped := map[tenancy]bool{}, map[tenancy]register.Instant{}
	for _, t := range h.leases(group, Holds) {
		held[tenancy{t.Process, t.Epoch}] = true
	}
	for _, t := range h.leases(group, Stops) {
		stopped[tenancy{t.Process, t.Epoch}] = t.At
	}
	for _, t := range h.leases(group, Releases) {
		of := tenancy{t.Process, t.Epoch}
		if i, ok := last[of]; ok && i.To > t.At {
			r.violate(ReleasedEarly, t.At, "%s released %d, and told its app to rely on it for %v more",
				t.Process, t.Epoch, i.To.Sub(t.At))
		}
		if at, ok := stopped[of]; held[of] && (!ok || at > t.At) {
			r.violate(ReleasedFirst, t.At, "%s released %d", t.Process, t.Epoch)
		}
	}
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
