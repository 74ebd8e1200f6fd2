package group

import (
	"bytes"
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// unanswered is a write to the status that has failed, and may have been stored all the same: its
// answer was lost, or came too late. If it was, the group is observed with it later, and what goes
// with the write is told then. A manager that ends meanwhile tells nothing of it.
type unanswered struct {
	owner   client.FieldOwner
	was, is v1.ElectionGroupStatus // of is the part that the owner writes counts
	events  []notification
}

// storedIn reports whether a status has what was to be written. They are compared as the API server
// stores them: its times are coarser.
func (u *unanswered) storedIn(observed v1.ElectionGroupStatus) bool {
	is, errIs := json.Marshal(partOf(u.is, u.owner))
	seen, errSeen := json.Marshal(partOf(observed, u.owner))
	return errIs == nil && errSeen == nil && bytes.Equal(is, seen)
}

// partOf is the part of a status that an owner writes.
func partOf(status v1.ElectionGroupStatus, owner client.FieldOwner) v1.ElectionGroupStatus {
	if owner == rosterOwner {
		return v1.ElectionGroupStatus{Roster: status.Roster}
	}
	status.Roster = nil
	return status
}

// tellUnanswered tells of a write that has failed, and that the group is observed with.
func (r *Reconciler) tellUnanswered(o observation, next *state) {
	u := next.unanswered
	if u == nil || !u.storedIn(o.published) {
		return
	}
	next.unanswered = nil
	r.record(o.group, u.events)
	if u.owner == statusOwner {
		r.Metrics.published(o.group, u.was, u.is)
	}
}
