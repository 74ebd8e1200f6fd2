package membership

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// MaxMembers is how many members a roster holds.
const MaxMembers = 100

// Roster says who is in a group.
type Roster struct {
	Generation int64
	// Digest identifies everything that this generation tells the agents, so that a manager that
	// starts knows whether anything has changed since.
	Digest string
	// LongestLease is the longest lease that a promise made under this or an earlier generation may
	// still have (MC4). Zero in a Classic group.
	LongestLease time.Duration
	// Rules is the rules level in force (MC11); 0 counts as 1. Zero in a Classic group.
	Rules   int32
	Members []Member // in the order of CompareNames
	// StepDown is what has become of an operator's request (MC12); nil: there is none.
	StepDown *StepDown
}

// Member is a pod on the roster.
type Member struct {
	Name string
	UID  string // a new pod of an old name is a new member
	// StateID is the identity of the agent's state directory. In a Guarded group only voters have
	// one: the pod with another state directory is another voter.
	StateID string
	Voter   bool
	// GoneSince is when the manager found the pod of a voter missing without proof that it ended.
	GoneSince time.Time
	// Forgotten: an operator confirmed that this voter has stopped.
	Forgotten bool
	// Replaced: the pod of this voter has reported from another state directory (MC5).
	Replaced bool
	// Witness: the pod votes and never coordinates (MC13).
	Witness bool
	// Label is the label from which a voter has its priority, as key=value, if the spec derives
	// priorities from labels. It makes no difference to the rules.
	Label string

	// Address and Priority are told to the agents and not persisted: Step reads neither of them
	// from Facts.Roster. Departing (MC8) is told by the generation alone: a roster that says so is
	// another one than before, also where the priority was 0 anyway.
	Address   string
	Priority  int32
	Departing bool
	// Grace is how long the pod may take to end, if it is being deleted; otherwise 0.
	Grace time.Duration
	// Created is when the pod was made, in seconds since 1970 by the API server's clock; 0 once it is
	// gone. Of candidates that are equal otherwise the youngest is the heir (LH8 in internal/lease).
	Created int64
}

// fill has the members carry what agents are told and what is not persisted, while a request may
// stand.
func fill(members []Member, w *StepDown, f *Facts) {
	for i := range members {
		pod := f.pod(members[i].UID)
		members[i].Priority = w.apply(members[i].Name, priority(pod))
		members[i].Departing = departs(pod)
		members[i].Address, members[i].Grace, members[i].Created = "", 0, 0
		if pod != nil {
			members[i].Address, members[i].Created = pod.Address, pod.Created
			members[i].Grace = pod.DeletionDue.Sub(pod.DeletionBegan)
		}
	}
}

// digest identifies what these members and the group's settings tell the agents. That an operator
// confirmed a voter's end makes another roster, too (see ForgetRequest). In a Classic group nothing
// depends on a state directory. Level 1 is what it was before there were levels.
func digest(members []Member, rules int32, f *Facts) string {
	var space [2048]byte
	b := appendString(space[:0], f.Settings)
	for i := range members {
		m := &members[i]
		b = appendString(b, m.Name)
		b = appendString(b, m.UID)
		b = appendString(b, m.Address)
		if f.Guarded {
			b = appendString(b, m.StateID)
		}
		b = binary.AppendVarint(b, int64(m.Priority))
		b = append(b, bit(m.Voter)|bit(m.Forgotten)<<1|bit(m.Departing)<<2)
		if m.Grace > 0 {
			b = binary.AppendVarint(b, int64(m.Grace))
		}
	}
	if rules > 1 {
		b = binary.AppendVarint(b, int64(rules))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// same reports whether two rosters are persisted as the same.
func same(a, b *Roster) bool {
	if a.Generation != b.Generation || a.Digest != b.Digest || a.LongestLease != b.LongestLease ||
		level(a.Rules) != level(b.Rules) || len(a.Members) != len(b.Members) ||
		!sameRequest(a.StepDown, b.StepDown) {
		return false
	}
	for i := range a.Members {
		m, n := &a.Members[i], &b.Members[i]
		if m.Name != n.Name || m.UID != n.UID || m.StateID != n.StateID || m.Voter != n.Voter ||
			!m.GoneSince.Equal(n.GoneSince) || m.Forgotten != n.Forgotten ||
			m.Replaced != n.Replaced || m.Witness != n.Witness ||
			m.Label != n.Label {
			return false
		}
	}
	return true
}
