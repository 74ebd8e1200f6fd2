package membership

import "time"

// MC5: Known to have ended. A voter is known to have ended if one of these is so:
//
//   - The kubelet itself says that its pod is over: condition ContainersReady is False with the
//     reason PodFailed or PodCompleted (the garbage collector, which calls the pods of lost nodes
//     Failed, does not set it), and all its containers have terminated. Terminated containers alone
//     prove nothing: a kubelet reports them before it starts them again. (Facts.Ended)
//   - Its pod is gone, and every certificate that it can have had has expired, by the slowest clock
//     that is promised. Since when the pod is gone outlives this manager, so it is a reading of the
//     wall clock: it is neither recorded nor believed while that differs from the API server's.
//     (An agent reads the end of its certificate from CLOCK_BOOTTIME, and takes the certificate for
//     ended after a reboot.)
//   - Its agent said, as its last word, that it has left: from then on it answers nobody. It used a
//     roster that gives its process priority 0 because its pod is being deleted (MC8), and it is
//     disconnected. Without such a roster the word proves nothing, because the container may be
//     started again. An agent that connects again disproves it. (That an agent is about to leave
//     proves nothing: it goes on voting, see MC6.)
//   - An operator confirmed it (kubectl election forget). An agent that connects disproves it.
//
// Another state directory proves nothing. A node may get another machine under its name while the
// old machine runs on, cut off: metal is installed anew, or a virtual machine is restored beside
// the old one. The new kubelet starts the same pod, with the same UID and an empty directory. From
// then on this kubelet speaks of its own containers, so its word proves nothing of the voter. The
// roster records that (Replaced). Such a voter is missing (MC6) while it does not report.
//
// All voters that have been known to have ended for as long as the longest lease are removed in one
// change, also the last ones: nothing that they promised can still run, and they promise nothing
// any more.

const (
	// CertificatesEnd is how long after a pod was found missing every certificate of its agent has
	// expired. A certificate lasts a day on its agent's clock: 1/(1−ρ) days if that is slow by ρ. A
	// manager's clock that is fast by ρ counts (1+ρ) of that (see Outlast), and may be some minutes
	// from the API server's.
	CertificatesEnd = 24*time.Hour*(100+MaxClockDriftPercent)/(100-MaxClockDriftPercent) +
		5*time.Minute
	// clocksAgain is after how long clocks that differed are compared again, if a voter's end may
	// be known by them.
	clocksAgain = time.Minute
)

// proof is since when a voter counts as ended. Its zero value is no proof.
type proof struct {
	at    time.Time // may be yet to come
	final bool      // nothing that its agent does disproves it
}

// proofOfEnd returns what proves that a voter has ended, or will have. Earlier is what was known
// before.
func proofOfEnd(v *voter, f *Facts, earlier proof) proof {
	if earlier.final {
		return earlier
	}
	for i := range f.Ended {
		if f.Ended[i].UID == v.UID && !v.replaced() {
			return proof{at: f.Ended[i].At, final: true}
		}
	}
	if v.certificatesExpired(f) {
		return proof{at: f.Now, final: true}
	}
	// With its pod, the word of an agent that left is gone, too; what it proved is known from earlier.
	left := v.saidGoodbye() || v.pod == nil && !earlier.at.IsZero()
	if v.reports() || !left && !v.Forgotten {
		return proof{}
	}
	return proof{at: heldSince(true, earlier.at, f.Now)}
}

// hasEnded reports whether a voter is known to have ended by now.
func (v *voter) hasEnded(now time.Time) bool {
	return !v.end.at.IsZero() && !v.end.at.After(now)
}

func (v *voter) certificatesExpired(f *Facts) bool {
	return !v.GoneSince.IsZero() && f.ClockAgrees && f.Now.Sub(v.GoneSince) > CertificatesEnd
}

// certificatesExpire returns when a voter's certificates will have expired if its pod stays gone;
// while the clocks differ, when they are compared again. Zero: its pod is there, or its end is
// known.
func (v *voter) certificatesExpire(f *Facts) time.Time {
	switch {
	case v.pod != nil || !v.end.at.IsZero():
		return time.Time{}
	case !f.ClockAgrees:
		return f.Now.Add(clocksAgain)
	default:
		since := heldSince(true, v.GoneSince, f.Now.Truncate(time.Second)) // as it is recorded
		return since.Add(CertificatesEnd + 1)
	}
}

// replaced reports whether the voter's pod reports from another state directory, or ever did: there
// may be two machines.
func (v *voter) replaced() bool {
	return v.Replaced || v.report != nil && v.report.StateID != "" && v.report.StateID != v.StateID
}

// saidGoodbye reports whether the voter's agent said that it has left, when it had been told that
// its pod is being deleted.
func (v *voter) saidGoodbye() bool {
	r := v.report
	return v.pod != nil && r != nil && r.StateID == v.StateID && r.Left && !r.Connected &&
		v.knowsItsEnd()
}

// knowsItsEnd reports whether the voter's agent has been told that its pod is being deleted.
func (v *voter) knowsItsEnd() bool {
	r := v.report
	return v.dismissed > 0 && r != nil && !r.OtherGroup && r.Generation >= v.dismissed
}

// confirmed reports whether an operator confirmed that a voter has stopped: now, or earlier, as the
// roster records. A voter that is connected has not, whoever says so.
func (v *voter) confirmed(r *Roster, f *Facts) bool {
	if v.reports() {
		return false
	}
	if v.Forgotten {
		return true
	}
	return r != nil && f.Forget.Generation == r.Generation &&
		f.Forget.Processes[Identity{Name: v.Name, UID: v.UID}]
}
