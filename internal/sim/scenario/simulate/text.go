package simulate

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/sim"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// WriteText writes a transcript, one line an event, and what came of it.
func WriteText(out io.Writer, s scenario.Scenario, r scenario.Result) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s, %s%s\n\n", s.Algorithm, processes(s), situation(s))
	for _, line := range Transcript(r.Events) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\n%s\n", Summary(r))
	return w.Flush()
}

// Transcript tells events, a line each.
func Transcript(events []scenario.Event) []string {
	var lines []string
	fate := fates(events)
	for _, e := range events {
		if said := describe(e, fate); said != "" {
			lines = append(lines, fmt.Sprintf("%7s  %s", number(units(e.At)), said))
		}
	}
	return lines
}

// situation says how a scenario begins.
func situation(s scenario.Scenario) string {
	others := slices.DeleteFunc(slices.Clone(s.Crashed), func(name string) bool {
		return name == s.Coordinator
	})
	say := ""
	switch {
	case s.Coordinator == "":
	case len(others) < len(s.Crashed):
		say = fmt.Sprintf("; %s, the coordinator, is down", s.Coordinator)
	default:
		say = fmt.Sprintf("; %s coordinates", s.Coordinator)
	}
	if len(others) > 0 {
		say += "; down: " + strings.Join(others, ", ")
	}
	if len(s.Unhealthy) > 0 {
		say += "; unhealthy: " + strings.Join(s.Unhealthy, ", ")
	}
	return say
}

// processes counts them.
func processes(s scenario.Scenario) string {
	if len(s.Processes) == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", len(s.Processes))
}

// Summary says who coordinates in the end, and what that took.
func Summary(r scenario.Result) string {
	var b strings.Builder
	switch {
	case r.Coordinator != "":
		fmt.Fprintf(&b, "%s coordinates:", r.Coordinator)
	default:
		b.WriteString("the processes do not agree:")
		for _, name := range slices.SortedFunc(maps.Keys(r.Coordinators), byNumber) {
			whom := r.Coordinators[name]
			if whom == "" {
				whom = "nobody"
			}
			fmt.Fprintf(&b, " %s follows %s;", name, whom)
		}
	}
	fmt.Fprintf(&b, " %s in %s link delays", count(r), number(units(r.Finished)))
	if r.Views > 0 {
		fmt.Fprintf(&b, ", and %d VIEW", r.Views)
	}
	return b.String()
}

func count(r scenario.Result) string {
	kinds := make([]string, 0, len(r.Messages))
	for _, kind := range slices.Sorted(maps.Keys(r.Messages)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", r.Messages[kind], kind))
	}
	if len(kinds) == 0 {
		return "0 messages"
	}
	return fmt.Sprintf("%d messages (%s)", r.Total, strings.Join(kinds, ", "))
}

func byNumber(a, b string) int { return Number(a) - Number(b) }

// fate is what became of a message.
type fate struct {
	at   scenario.Time
	lost string // why; empty: it was delivered
}

// fates maps a message's sequence to what became of it; one that is still under way is not there.
func fates(events []scenario.Event) map[int]fate {
	all := map[int]fate{}
	for _, e := range events {
		switch e.Kind {
		case scenario.Delivered:
			all[e.Sequence] = fate{at: e.At}
		case scenario.Lost:
			all[e.Sequence] = fate{at: e.At, lost: e.Note}
		default:
		}
	}
	return all
}

// describe says in one line what happened. Of a message its sending is told, with what will become
// of it; its arrival is not.
func describe(e scenario.Event, fate map[int]fate) string {
	switch e.Kind {
	case scenario.Sent:
		line := fmt.Sprintf("%s → %s  %s", e.Process, e.Peer, sim.Describe(&e.Message))
		if f, ok := fate[e.Sequence]; ok && f.lost != "" {
			line += "   (lost: " + f.lost + ")"
		}
		return line
	case scenario.TimedOut:
		return fmt.Sprintf("%s waited in vain (%s)", e.Process, e.Note)
	case scenario.HasFailed:
		return e.Process + " crashes"
	case scenario.Recovered:
		return e.Process + " recovers"
	case scenario.Starts:
		return e.Process + " starts"
	case scenario.Follows:
		if e.Peer == e.Process {
			return fmt.Sprintf("    %s: I am the coordinator", e.Process)
		}
		return fmt.Sprintf("    %s: %s is the coordinator", e.Process, e.Peer)
	case scenario.WasCut:
		return "the network is cut: " + e.Note
	case scenario.Healed:
		return "the network heals"
	case scenario.Suspects:
		return fmt.Sprintf("%s misses its coordinator %s", e.Process, e.Peer)
	case scenario.LinkDown:
		return fmt.Sprintf("%s learns that %s is gone", e.Process, e.Peer)
	case scenario.Withdraws:
		return fmt.Sprintf("the app of %s is unhealthy: %s is no candidate, and its control part goes on",
			e.Process, e.Process)
	case scenario.Restored:
		return fmt.Sprintf("the app of %s is healthy again", e.Process)
	case scenario.Paused:
		return e.Process + " is paused"
	case scenario.Resumed:
		return e.Process + " goes on"
	case scenario.Delivered, scenario.Lost, scenario.LinkUp, scenario.Changed:
		return ""
	default: // of lease, which is not simulated here
	}
	return ""
}

// number writes a time with as many decimals as it has, at most two.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
