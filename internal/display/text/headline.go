package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podesta-dev/podesta/internal/display"
)

// headline is what an operator wants to know first: the state, and who coordinates.
type headline struct {
	namespace, name string
	state           display.State
	reason          string
	coordinator     *display.Coordinator
	current         *display.Current // nil: nobody has looked
}

func headlineOf(g display.Group) headline {
	return headlineFrom(g.Namespace, g.Name, g.State, g.LastState, g.Reason, g.Coordinator,
		g.Current)
}

// headlineFrom returns the headline of a group. While nobody updates the group, its state is the
// one that the manager left.
func headlineFrom(namespace, name string, state, last display.State, reason string,
	coordinator *display.Coordinator, current *display.Current) headline {
	if state == display.NotUpdated {
		state = last
	}
	return headline{namespace, name, state, reason, coordinator, current}
}

func (h headline) group() string {
	if h.namespace == "" {
		return h.name
	}
	return h.namespace + "/" + h.name
}

// label is the state with its reason.
func (h headline) label() string {
	if h.reason == "" {
		return string(h.state)
	}
	return fmt.Sprintf("%s (%s)", h.state, h.reason)
}

// who is a sentence without its stop. Ages change all the time, so a line a change has none.
func (h headline) who(age bool) string {
	c := h.coordinator
	switch {
	case c == nil && h.state == display.Unknown:
		return "it is not known who coordinates " + h.group()
	case c == nil && h.mayBeUnseen():
		return "nobody is known to coordinate " + h.group()
	case c == nil:
		return "nobody coordinates " + h.group()
	}
	verb := "coordinates"
	switch h.state {
	case display.Unknown:
		verb = "was last seen to coordinate"
	case display.Disputed:
		verb = "claims to coordinate"
	default:
	}
	text := fmt.Sprintf("%s %s %s", c.Name, verb, h.group())
	if age && c.Since != nil && h.state != display.Unknown {
		text += " for " + ago(c.Seconds)
	}
	if c.Epoch != "" {
		text += " under epoch " + c.Epoch
	}
	return text
}

// mayBeUnseen reports whether voters that the manager does not see may have a coordinator among
// themselves: it may be the manager that is cut off.
func (h headline) mayBeUnseen() bool {
	return h.reason == "MajorityLost" || h.reason == "NoMajority"
}

// write writes the headline. If nobody updates the group, the first line says that, and the second
// one what the agents say, if they were asked.
func (h headline) write(b *strings.Builder, o Options) {
	if h.current == nil || !h.current.Stale {
		o.hang(b, "", h.label()+": ", stateStyle(h.state), h.who(true))
		return
	}
	o.Stale(b, *h.current, h.group())
	for _, said := range agentsSay(h.current.Agents) {
		o.hang(b, "", "Agents now: ", yellow, said)
	}
	o.hang(b, "", "Until then: ", faint, h.label()+": "+h.who(true))
}

// agentsSay returns the answers of agents as sentences; none if the agents were not asked.
func agentsSay(a *display.Agents) (all []string) {
	if a == nil {
		return nil
	}
	for _, v := range a.Views {
		all = append(all, followers(v))
	}
	if len(a.Absent) > 0 {
		all = append(all, absent(a.Absent))
	}
	return all
}

// AsOf returns the age of a group's status, for a dialog. If nobody updates it, AsOf returns
// the lines with which the command status begins then.
func AsOf(g display.Group, o Options) string {
	var b strings.Builder
	if g.Current.Stale {
		headlineOf(g).write(&b, o)
	} else {
		o.hang(&b, "", "As of ", faint, g.Current.Text())
	}
	return b.String()
}

// Stale writes that nobody updates something.
func (o Options) Stale(b *strings.Builder, c display.Current, what string) {
	o.hang(b, "", string(display.NotUpdated)+": ", red, c.Warning(what))
}

// absent says which processes have not answered, and why.
func absent(why map[string]string) string {
	by := map[string][]string{}
	for process, reason := range why {
		by[reason] = append(by[reason], process)
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[reason])
		all = append(all, fmt.Sprintf("%d could not be asked: %s (%s)", len(by[reason]),
			display.Enumerate(by[reason]), reason))
	}
	return strings.Join(all, "; ")
}

func stateStyle(s display.State) style {
	switch s {
	case display.NoCoordinator, display.Disputed, display.Stalled, display.NotUpdated:
		return red
	case display.Unknown, display.Degraded, display.Changing:
		return yellow
	default:
		return green
	}
}

// ago returns an age as kubectl writes it: 12s, 3d4h.
func ago(seconds int64) string {
	return duration.HumanDuration(time.Duration(seconds) * time.Second)
}

// Line returns a group on one line without anything that changes by itself: two lines differ if
// something has happened.
func Line(g display.Group) string {
	h := headlineOf(g)
	text := fmt.Sprintf("%s: %s; %s running", h.label(), h.who(false), or(g.Running))
	if v := g.Voters; v != nil && v.Total > 0 {
		text += "; voters: " + mayFail(*v)
	}
	var also []string
	for _, state := range []string{"Crashed", "NotAnswering", "Unknown"} {
		var names []string
		for _, p := range g.Processes {
			if p.State == state {
				names = append(names, p.Name)
			}
		}
		if len(names) > 0 {
			also = append(also, state+": "+display.Enumerate(names))
		}
	}
	text = strings.Join(append([]string{text}, also...), "; ")
	if g.State == display.NotUpdated {
		now := ""
		if said := agentsSay(g.Current.Agents); len(said) > 0 {
			now = " Agents now: " + strings.Join(said, "; ") + "."
		}
		return fmt.Sprintf("%s: %s%s Until then: %s", g.State, g.Current.Warning(h.group()), now, text)
	}
	return text
}
