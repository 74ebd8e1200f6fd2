package group

import (
	"encoding/json"
	"fmt"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// A status that was set back: MC10 in internal/membership.

// setBackWithin is how long agents may take to show the roster that they use, before the status
// says that it was set back. Nearly always one is adopted before.
const setBackWithin = 5 * time.Second

// setBackSince is since when this manager knows that the status was set back; zero: it was not.
func setBackSince(o observation, d rosterDecision) time.Time {
	switch {
	case d.setBack == nil:
		return time.Time{}
	case o.setBackSince.IsZero():
		return o.now
	default:
		return o.setBackSince
	}
}

// holdSetBack returns for how long the published status is to stay as it is because a roster may be
// adopted soon.
func holdSetBack(now, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(setBackWithin-now.Sub(since), 0)
}

// setBackMessage says what is wrong with the roster in the status, and what can be done.
func setBackMessage(f findings) string {
	b, status := f.step.setBack, int64(0)
	if f.step.known != nil {
		status = f.step.known.Generation
	}
	users := names(f.processes, func(p process) bool {
		return p.seen != nil && p.seen.Report.Generation > status
	})
	who := "agents that do not report any more used"
	if len(users) > 0 {
		who = fmt.Sprintf("%s %s", enumerate(users), plural(len(users), "uses", "use"))
	}
	had := fmt.Sprintf("holds the roster of generation %d", status)
	if status == 0 {
		had = "holds no roster"
	}
	adopt := fmt.Sprintf("kubectl election adopt %s -n %s", f.group.Name, f.group.Namespace)
	wrong := fmt.Sprintf("the status %s, and %s one of generation %d: a backup was restored, or the "+
		"status was wiped. Elections continue; changes of members are suspended", had, who, b.Newest)
	if b.Held == 0 {
		return fmt.Sprintf("%s. No agent has shown a roster that a manager signed. Bring the "+
			"voters back, or run %s --status if nothing runs that uses a newer one", wrong, adopt)
	}
	return fmt.Sprintf("%s. The newest that an agent has shown is of generation %d, and is adopted "+
		"when a majority of its voters report and none reports a newer one. If the others have "+
		"certainly ended, run %s", wrong, b.Held, adopt)
}

// rosterShown is a roster that agents hold, as the rules of voters know it; nil if there is none.
func rosterShown(r *roster.Roster) *membership.Roster {
	if r == nil || r.Safety != roster.Guarded {
		return nil
	}
	shown := &membership.Roster{
		Generation:   r.Generation,
		LongestLease: max(r.LongestLease, r.Lease),
		Rules:        r.Rules,
	}
	for _, p := range r.Processes {
		m := membership.Member{
			Name:  p.Name,
			UID:   p.UID,
			Voter: p.Voter,
		}
		if p.Voter {
			m.StateID = p.StateID
		}
		shown.Members = append(shown.Members, m)
	}
	return shown
}

// adoptRequest returns what the group's annotation asks for; nothing if there is none, or it cannot
// be read. Then ignored says so, and what to do.
func adoptRequest(group *v1.ElectionGroup) (request membership.AdoptRequest, ignored string) {
	var asked v1.AdoptRequest
	value, found := group.Annotations[v1.AdoptAnnotation]
	switch {
	case !found:
		return request, ""
	case len(value) > maxAdopt || json.Unmarshal([]byte(value), &asked) != nil:
		return request, fmt.Sprintf("the annotation %s is ignored: it is not a request. Remove it "+
			"(kubectl annotate eg %s -n %s %s-), and let kubectl election adopt write it",
			v1.AdoptAnnotation, group.Name, group.Namespace, v1.AdoptAnnotation)
	}
	return membership.AdoptRequest{Generation: asked.Generation, Newest: asked.Newest}, ""
}

// maxAdopt is the length of the longest annotation that is read, in bytes: two numbers fit.
const maxAdopt = 200
