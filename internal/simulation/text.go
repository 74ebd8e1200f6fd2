package simulation

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/election/electiontest"
)

// WriteText writes a transcript, one line an event, and what came of it.
func WriteText(out io.Writer, s electiontest.Scenario, r electiontest.Result) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s, %s%s\n\n", s.Algorithm, processes(s), situation(s))
	for _, line := range Transcript(r.Events) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\n%s\n", Summary(r))
	return w.Flush()
}

// Transcript tells events, a line each.
func Transcript(events []electiontest.Event) []string {
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
func situation(s electiontest.Scenario) string {
	others := slices.DeleteFunc(slices.Clone(s.Crashed), func(name string) bool { return name == s.Coordinator })
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
	return say
}

// processes counts them.
func processes(s electiontest.Scenario) string {
	if len(s.Processes) == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", len(s.Processes))
}

// Summary says who coordinates in the end, and what that took.
func Summary(r electiontest.Result) string {
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

func count(r electiontest.Result) string {
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
	at   electiontest.Time
	lost string // why; empty: it was delivered
}

// fates maps a message's sequence to what became of it; one that is still under way is not there.
func fates(events []electiontest.Event) map[int]fate {
	all := map[int]fate{}
	for _, e := range events {
		switch e.Kind {
		case electiontest.Delivered:
			all[e.Sequence] = fate{at: e.At}
		case electiontest.Lost:
			all[e.Sequence] = fate{at: e.At, lost: e.Note}
		default:
		}
	}
	return all
}

// describe says in one line what happened. Of a message its sending is told, with what will become of it; its arrival is not.
func describe(e electiontest.Event, fate map[int]fate) string {
	switch e.Kind {
	case electiontest.Sent:
		line := fmt.Sprintf("%s → %s  %s", e.Process, e.Peer, electiontest.Describe(e.Message))
		if f, ok := fate[e.Sequence]; ok && f.lost != "" {
			line += "   (lost: " + f.lost + ")"
		}
		return line
	case electiontest.TimedOut:
		return fmt.Sprintf("%s waited in vain (%s)", e.Process, e.Note)
	case electiontest.HasFailed:
		return e.Process + " crashes"
	case electiontest.Recovered:
		return e.Process + " recovers"
	case electiontest.Starts:
		return e.Process + " starts"
	case electiontest.Follows:
		if e.Peer == e.Process {
			return fmt.Sprintf("    %s: I am the coordinator", e.Process)
		}
		return fmt.Sprintf("    %s: %s is the coordinator", e.Process, e.Peer)
	case electiontest.WasCut:
		return "the network is cut: " + e.Note
	case electiontest.Healed:
		return "the network heals"
	case electiontest.Suspects:
		return fmt.Sprintf("%s misses its coordinator %s", e.Process, e.Peer)
	case electiontest.LinkDown:
		return fmt.Sprintf("%s learns that %s is gone", e.Process, e.Peer)
	case electiontest.Withdraws:
		return fmt.Sprintf("the app of %s is ill: %s is no candidate", e.Process, e.Process)
	case electiontest.Restored:
		return fmt.Sprintf("the app of %s is well again", e.Process)
	case electiontest.Paused:
		return e.Process + " is paused"
	case electiontest.Resumed:
		return e.Process + " goes on"
	case electiontest.Delivered, electiontest.Lost, electiontest.LinkUp, electiontest.Changed:
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
