package membership

import "slices"

// MC13: Witnesses. A pod that is marked as a witness votes and never coordinates: it has priority 0
// on the roster, whatever the group's spec gives to its name. It is a witness for good: the roster
// records it, and what is recorded of a pod's UID counts as long as that pod is on the roster, also
// when the mark is taken off the pod, and under the next manager. A mark that is added later counts
// from then on. Only a new pod, which has a new UID, may be something else; and a pod that is on no
// roster yet, because an earlier voter of its name still is, is what it is marked as when it comes.
//
// A witness is a voter like any other: MC1 to MC12 do not tell them apart. A witness of a Classic
// group has nothing to vote on, and does not coordinate either.
//
// If the status was set back (MC10), what was recorded since is lost: agents do not know who is a
// witness. The marks on the pods count then, and what the older status has recorded.

// witnesses returns the facts with all witnesses marked, and with priority 0, where recorded is the
// newest roster. Without witnesses, they are the facts as they are.
func witnesses(f *Facts, recorded *Roster) *Facts {
	marked := f
	for i := range f.Pods {
		if pod := &f.Pods[i]; !pod.Witness && !recorded.witness(pod) && !f.Roster.witness(pod) {
			continue
		}
		if marked == f {
			other := *f
			other.Pods, marked = slices.Clone(f.Pods), &other
		}
		marked.Pods[i].Witness, marked.Pods[i].Priority = true, 0
	}
	return marked
}

// witness reports whether the roster records that a pod is a witness.
func (r *Roster) witness(pod *Pod) bool {
	m := r.member(pod.UID)
	return m != nil && m.Witness
}
