package group

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// unanswered is a write to the status that has failed, and may have been stored all the same: its
// answer was lost, or came too late. If it was, the group is observed with it later, and what goes
// with the write is told then. A manager that ends meanwhile tells nothing of it.
type unanswered struct {
	on   string                 // the resource version of the group that it was made on
	part v1.ElectionGroupStatus // the roster, or all the rest
	tell func()
}

// maxUnanswered is how many writes are remembered. They are all made on one resource version, so
// one of them was stored at most: most likely the first, before the API server was away.
const maxUnanswered = 10

// failed remembers a write that has failed, unless it was not stored for sure.
func (s *state) failed(
	err error, group *v1.ElectionGroup, part v1.ElectionGroupStatus, tell func(),
) {
	if len(s.unanswered) < maxUnanswered && mayBeStored(err) {
		s.unanswered = append(slices.Clip(s.unanswered),
			unanswered{s.observedVersion(group), part, tell})
	}
}

// mayBeStored reports whether a write that has failed with an error may be stored: it reached the
// API server, and that did not refuse it.
func mayBeStored(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return !utilnet.IsConnectionRefused(err)
}

// tellUnanswered tells of the write that the group is observed with. When the group has changed,
// nothing can come of the others any more: they were made on what it was before.
func (s *state) tellUnanswered(o observation) {
	if len(s.unanswered) == 0 || s.unanswered[0].on == s.observedVersion(o.group) {
		return
	}
	for _, u := range s.unanswered {
		if u.storedIn(o.published) {
			u.tell()
			break
		}
	}
	s.unanswered = nil
}

// storedIn reports whether a status has what was to be written. They are compared as the API server
// stores them: its times are coarser.
func (u *unanswered) storedIn(observed v1.ElectionGroupStatus) bool {
	if u.part.Roster == nil {
		observed.Roster = nil
	} else {
		observed = v1.ElectionGroupStatus{Roster: observed.Roster}
	}
	is, errIs := json.Marshal(u.part)
	seen, errSeen := json.Marshal(observed)
	return errIs == nil && errSeen == nil && bytes.Equal(is, seen)
}
