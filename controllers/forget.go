package controllers

import (
	"encoding/json"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// forgotten says whether an operator answers for a voter having ended: now by the annotation, or earlier, as the roster records.
// One that is connected to the manager has not ended, whoever says so.
//
// The annotation is bound to a generation of the roster, and recording it makes a new one. So of two managers one records it,
// it works once, and nobody has to take it away.
func forgotten(m v1.RosterMember, o observation) bool {
	if reports(m, o) {
		return false
	}
	return ptr.Deref(m.Forgotten, false) || slices.ContainsFunc(forgetRequest(o).Processes,
		func(p v1.ForgottenProcess) bool { return p.Name == m.Name && p.UID == m.UID })
}

// forgetRequest is what the group's annotation asks for; nothing if there is none, it cannot be read, or it speaks of a roster
// that is not the present one.
func forgetRequest(o observation) v1.ForgetRequest {
	var request v1.ForgetRequest
	value, asked := o.group.Annotations[v1.ForgetAnnotation]
	if !asked || json.Unmarshal([]byte(value), &request) != nil || o.published.Roster == nil ||
		request.Generation != o.published.Roster.Generation {
		return v1.ForgetRequest{}
	}
	return request
}
