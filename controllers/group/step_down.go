package group

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// An operator who asks that the coordinator step down: MC12 in internal/membership.

const (
	// longestStepDown is the most bytes that the annotation may have; a longer one is ignored. A
	// request with two of the longest names takes less than 900.
	longestStepDown = 4 << 10
	longestUID      = 64
)

// requestID is what an ID may look like: it is written into the status.
var requestID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// stepDownRequest returns what the group's annotation asks for. A request that cannot be read asks
// for nothing, and ignored says why, and what to do.
func stepDownRequest(group *v1.ElectionGroup) (request membership.StepDownRequest, ignored string) {
	value, found := group.Annotations[v1.StepDownAnnotation]
	if !found {
		return request, ""
	}
	if len(value) > longestStepDown {
		return request, stepDownIgnored(group, fmt.Sprintf("it has %d bytes, and at most %d are read",
			len(value), longestStepDown))
	}
	var asked v1.StepDownRequest
	if json.Unmarshal([]byte(value), &asked) != nil { // the error may quote all of it
		return request, stepDownIgnored(group, "it is not a request in JSON")
	}
	if wrong := wrongStepDown(&asked); wrong != "" {
		return request, stepDownIgnored(group, wrong)
	}
	request = membership.StepDownRequest{
		ID:         asked.ID,
		Generation: asked.Generation,
		Process:    identityOf(asked.Process),
		Epoch:      asked.Epoch,
		For:        time.Duration(asked.Seconds) * time.Second,
	}
	if asked.To != nil {
		request.To = identityOf(*asked.To)
	}
	return request, ""
}

// wrongStepDown returns what makes a request invalid; empty if it is valid.
func wrongStepDown(asked *v1.StepDownRequest) string {
	const most = int64(membership.MaxStepDown / time.Second)
	switch {
	case !requestID.MatchString(asked.ID):
		return "its id is not 1 to 64 letters, digits and hyphens"
	case asked.Generation < 1:
		return "it names no generation"
	case !identifiesPod(asked.Process):
		return "its process is not the name and UID of a pod"
	case asked.To != nil && !identifiesPod(*asked.To):
		return "its successor is not the name and UID of a pod"
	case asked.Seconds < 0 || asked.Seconds > most:
		return fmt.Sprintf("its seconds are not between 0 and %d", most)
	default:
		return ""
	}
}

func identifiesPod(p v1.StepDownProcess) bool {
	return len(validation.IsDNS1123Subdomain(p.Name)) == 0 && p.UID != "" && len(p.UID) <= longestUID
}

func identityOf(p v1.StepDownProcess) membership.Identity {
	return membership.Identity{Name: p.Name, UID: string(p.UID)}
}

func stepDownIgnored(group *v1.ElectionGroup, why string) string {
	return fmt.Sprintf("the annotation %s is ignored: %s. Remove it (kubectl annotate eg %s -n %s "+
		"%s-), and let kubectl election step-down write it", v1.StepDownAnnotation, why, group.Name,
		group.Namespace, v1.StepDownAnnotation)
}

// awaitsCoordinator reports whether a request still depends on who coordinates. One that is over
// does not, though it may stay in its annotation for ever.
func awaitsCoordinator(f *membership.Facts) bool {
	if f.StepDown.ID == "" {
		return false
	}
	r := f.Roster
	return r == nil || r.StepDown == nil || r.StepDown.ID != f.StepDown.ID ||
		r.StepDown.Outcome == membership.Standing
}

// knownCoordinator returns the coordinator as the status would show it; zero if it would show none,
// or one that nobody reports now.
func knownCoordinator(o observation) membership.Coordinator {
	all := processesOf(o)
	chosen := choose(all, o)
	if !chosen.elected() {
		return membership.Coordinator{}
	}
	for _, p := range all {
		if p.name == chosen.name && p.pod != nil {
			return membership.Coordinator{
				Identity: membership.Identity{Name: p.name, UID: string(p.pod.UID)},
				Epoch:    chosen.epoch,
			}
		}
	}
	return membership.Coordinator{}
}

// stepDownFrom reads the record of a request; nil if there is none.
func stepDownFrom(s *v1.StepDownStatus) *membership.StepDown {
	if s == nil {
		return nil
	}
	return &membership.StepDown{
		ID:      s.ID,
		Process: s.Process,
		To:      s.To,
		Until:   s.Until.Time,
		Outcome: membership.Outcome(s.Outcome),
	}
}

// stepDownRecord returns the record of a request as it is persisted; nil if there is none.
func stepDownRecord(w *membership.StepDown) *v1.StepDownStatus {
	if w == nil {
		return nil
	}
	return &v1.StepDownStatus{
		ID:      w.ID,
		Process: w.Process,
		To:      w.To,
		Until:   metav1.NewTime(w.Until),
		Outcome: v1.StepDownOutcome(w.Outcome),
	}
}

// standsAside reports whether a roster keeps a process from coordinating because of a request.
func standsAside(r *v1.RosterStatus, name string) bool {
	return r != nil && r.StepDown != nil && r.StepDown.Outcome == v1.StepDownStanding &&
		r.StepDown.Process == name
}

// stepDownEvents tells what has become of a request to step down.
func stepDownEvents(was, is *v1.RosterStatus) []notification {
	var before *v1.StepDownStatus
	if was != nil {
		before = was.StepDown
	}
	now := is.StepDown
	stood := before != nil && before.Outcome == v1.StepDownStanding
	normal := func(reason, format string, args ...any) notification {
		return notification{corev1.EventTypeNormal, reason, "StepDown", fmt.Sprintf(format, args...)}
	}
	var all []notification
	if stood && (now == nil || now.ID != before.ID) {
		all = append(all, normal("StepDownEnded",
			"%s may coordinate again: the request was taken back or replaced", before.Process))
	}
	if now == nil || before != nil && before.ID == now.ID && before.Outcome == now.Outcome {
		return all
	}
	switch why := outcomes[now.Outcome]; {
	case now.Outcome == v1.StepDownStanding && now.Until.IsZero():
		all = append(all, normal("StepDownBegan",
			"%s has priority 0 until another process coordinates", now.Process))
	case now.Outcome == v1.StepDownStanding:
		all = append(all, normal("StepDownBegan", "%s has priority 0 until %s", now.Process,
			now.Until.UTC().Format(time.RFC3339)))
	case stood && before.ID == now.ID:
		all = append(all, normal("StepDownEnded", "%s may coordinate again: %s", now.Process, why))
	default:
		all = append(all, notification{corev1.EventTypeWarning, "StepDownRefused", "StepDown",
			fmt.Sprintf("%s was not asked to step down: %s", now.Process, why)})
	}
	return all
}

// outcomes says why a request has ended, or was refused.
var outcomes = map[v1.StepDownOutcome]string{
	v1.StepDownHandedOver: "another process coordinates",
	v1.StepDownTimeOver:   "the time is over",
	v1.StepDownNobodyTookOver: "no other process coordinated for a lease and 5 s. Find out why, and " +
		"ask again",
	v1.StepDownOutdated: "the roster or the coordinator has changed since the request was made. " +
		"Look who coordinates, and ask again",
	v1.StepDownNobodyElse: "no other process that reports to the manager is a candidate. Mend one, " +
		"and ask again",
	v1.StepDownSuccessorUnfit: "the process that is to coordinate instead is not a candidate, or " +
		"does not report to the manager. Mend it or name another one, and ask again",
}
