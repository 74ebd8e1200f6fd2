package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/trace"
)

// Trace returns what was said in elections of a group, the newest first.
func Trace(group string, elections []trace.Picture, o Options) string {
	var b strings.Builder
	for i, p := range elections {
		if i > 0 {
			b.WriteString("\n")
		}
		o.picture(&b, group, p)
	}
	return b.String()
}

func (o Options) picture(b *strings.Builder, group string, p trace.Picture) {
	b.WriteString(o.paint(bold, p.Title(group)) + "\n\n")
	fact := func(name, value string) {
		if value != "" {
			o.hang(b, "  ", fmt.Sprintf("%-11s", name), faint, value)
		}
	}
	fact("election", p.ID)
	fact("reason", p.Reason)
	fact("called by", p.Initiator)
	fact("algorithm", p.Algorithm)
	if p.At != nil {
		fact("published", p.At.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	if p.Sent != nil && p.Milliseconds != nil {
		cost := fmt.Sprintf("%d messages, %d ms without a coordinator", *p.Sent, *p.Milliseconds)
		if p.AtMost != nil {
			cost += fmt.Sprintf("; one election takes %d messages at most", *p.AtMost)
		}
		fact("cost", cost)
	}
	o.events(b, p)
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + o.paint(bold, title) + "\n")
		for _, line := range lines {
			o.hang(b, "  ", "- ", faint, line)
		}
	}
	section("What is not known", p.Unknown)
	section("What does not fit together", p.Contradictions)
}

// events writes the events of a picture, and what their marks mean.
func (o Options) events(b *strings.Builder, p trace.Picture) {
	if len(p.Events) == 0 {
		return
	}
	b.WriteString("\n")
	rows := make([][]cell, 0, len(p.Events))
	unordered, own := false, false
	for _, e := range p.Events {
		mark, clock := "", ""
		if e.Unordered {
			mark, unordered = "~", true
		}
		if e.Microseconds != nil {
			clock = fmt.Sprintf("%.3f ms",
				float64(*e.Microseconds)/float64(time.Millisecond/time.Microsecond))
			own = true
		}
		rows = append(rows, []cell{
			{text: mark},
			{text: strconv.Itoa(e.Number)},
			{text: e.Process},
			{text: sentence(e), whole: true}, // its end says which message it is
			{text: clock},
		})
	}
	o.table(b, []column{
		{},
		{title: "#"},
		{title: "PROCESS", names: true},
		{title: "WHAT", names: true},
		{title: "ITS CLOCK", gives: 1},
	}, rows)
	b.WriteString("\n")
	if unordered {
		o.hang(b, "  ", "~ ", faint, "Whether this happened before or after what is listed above it is "+
			"not known: no chain of messages joins the two.")
	}
	if own {
		o.hang(b, "  ", "", faint, "ITS CLOCK counts from when that process began to take part. "+
			"Those of two processes cannot be compared.")
	}
}

// sentence says what happened.
func sentence(e trace.Event) string {
	message := e.Kind
	fromItself := e.What == trace.Receives && e.About == e.Peer
	if e.About != "" && e.About != e.Process && !fromItself {
		message += " " + e.About
	}
	switch e.What {
	case trace.TakesPart:
		if e.Reason == "" {
			return "takes part"
		}
		return "takes part: " + e.Reason
	case trace.Follows:
		if e.Peer == e.Process {
			return "coordinates"
		}
		return "follows " + e.Peer
	case trace.Receives:
		from := ""
		if e.Pair > 0 {
			from = fmt.Sprintf(" (#%d)", e.Pair)
		}
		return fmt.Sprintf("← %s  %s%s", e.Peer, message, from)
	default:
		end := ""
		if e.Inferred {
			end = " (as told by " + e.Peer + ")"
		} else if e.Pair == 0 {
			end = " (no receipt is told)"
		}
		return fmt.Sprintf("→ %s  %s%s", e.Peer, message, end)
	}
}
