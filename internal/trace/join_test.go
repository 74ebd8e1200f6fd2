package trace_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/trace"
)

// saying makes an account: of P1, incarnation 1, unless the header says so. Each line is a message,
// as "2 ms: P1/1/7 > P2 ELECTION P1", of which P1 sent number 7 in incarnation 1.
func saying(t *testing.T, process string, incarnation uint64, e trace.Account,
	lines ...string) trace.Accounts {
	t.Helper()
	for _, line := range lines {
		var m trace.Message
		at, rest, _ := strings.Cut(line, ": ")
		who, what, ok := strings.Cut(rest, " > ")
		d, err := time.ParseDuration(at)
		parts := strings.Split(who, "/")
		if !ok || err != nil || len(parts) != 3 {
			t.Fatalf("%q is no message", line)
		}
		m.Microseconds, m.From = d.Microseconds(), parts[0]
		words := strings.Fields(what)
		m.To, m.Kind = words[0], words[1]
		if len(words) > 2 {
			m.Process = words[2]
		}
		if _, err := fmt.Sscan(parts[1]+" "+parts[2], &m.Incarnation, &m.Sequence); err != nil {
			t.Fatal(err)
		}
		e.Messages = append(e.Messages, m)
	}
	return trace.Accounts{Process: process, Incarnation: incarnation,
		Elections: []trace.Account{e}}
}

// account is one of an election that took 10 ms and had the result P3.
func account(id string) trace.Account {
	return trace.Account{
		Number:       1,
		ID:           id,
		Coordinator:  "P3",
		Microseconds: 10_000,
		Reason:       "Asked",
	}
}

// told is a picture, a line for each event.
func told(p trace.Picture) string {
	var b strings.Builder
	for _, e := range p.Events {
		mark := " "
		if e.Unordered {
			mark = "~"
		}
		fmt.Fprintf(&b, "%s%d %s %s", mark, e.Step, e.Process, e.What)
		for _, word := range []string{e.Kind, e.Peer, e.Reason} {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		if e.Inferred {
			b.WriteString(" (inferred)")
		}
		if e.What == trace.Sends && e.Pair == 0 {
			b.WriteString(" (no receipt)")
		}
		b.WriteString("\n")
	}
	for _, s := range p.Unknown {
		b.WriteString("? " + s + "\n")
	}
	for _, s := range p.Contradictions {
		b.WriteString("! " + s + "\n")
	}
	return b.String()
}

func TestJoin(t *testing.T) {
	p1 := saying(t, "P1", 1, account("P1/1/1"), "1ms: P1/1/1 > P3 ELECTION P1",
		"5ms: P3/1/1 > P1 OK", "9ms: P3/1/2 > P1 COORDINATOR P3")
	p3 := saying(t, "P3", 1, account("P1/1/1"), "0ms: P1/1/1 > P3 ELECTION P1",
		"0ms: P3/1/1 > P1 OK", "0ms: P3/1/2 > P1 COORDINATOR P3")
	for name, c := range map[string]struct {
		accounts []trace.Accounts
		absent   map[string]string
		want     string
	}{
		"two that agree; their clocks do not count": {
			accounts: []trace.Accounts{p1, p3},
			want: `
 1 P1 TakesPart Asked
~1 P3 TakesPart Asked
~2 P1 Sends ELECTION P3
 3 P3 Receives ELECTION P1
 3 P3 Sends OK P1
 3 P3 Sends COORDINATOR P1
~4 P1 Receives OK P3
~4 P3 Follows P3
~5 P1 Receives COORDINATOR P3
 6 P1 Follows P3
`,
		},
		"one of them is silent: what it sent is inferred, in the order of its numbers": {
			accounts: []trace.Accounts{p1},
			absent:   map[string]string{"P3": "its pod does not answer"},
			want: `
 1 P1 TakesPart Asked
 2 P1 Sends ELECTION P3 (no receipt)
~2 P3 Sends OK P1 (inferred)
 3 P1 Receives OK P3
~3 P3 Sends COORDINATOR P1 (inferred)
 4 P1 Receives COORDINATOR P3
 5 P1 Follows P3
? P3 gives no account: its pod does not answer.
`,
		},
		"a message that was lost": {
			accounts: []trace.Accounts{
				saying(t, "P1", 1, account("P1/1/1"), "1ms: P1/1/1 > P3 ELECTION P1"),
				saying(t, "P3", 1, account("P1/1/1")),
			},
			want: `
 1 P1 TakesPart Asked
~1 P3 TakesPart Asked
~2 P1 Sends ELECTION P3 (no receipt)
~2 P3 Follows P3
~3 P1 Follows P3
? Of 1 messages no account of this election tells a receipt: they were lost, or arrived when their receivers had no part in it.
`,
		},
		"each received what the other sent only later": {
			accounts: []trace.Accounts{
				saying(t, "P1", 1, account("x"), "1ms: P3/1/1 > P1 OK", "2ms: P1/1/1 > P3 ELECTION P1"),
				saying(t, "P3", 1, account("x"), "1ms: P1/1/1 > P3 ELECTION P1", "2ms: P3/1/1 > P1 OK"),
			},
			want: `
 1 P1 TakesPart Asked
~1 P3 TakesPart Asked
~2 P1 Receives OK P3
 2 P1 Sends ELECTION P3
~2 P3 Receives ELECTION P1
 2 P3 Sends OK P1
~3 P1 Follows P3
~3 P3 Follows P3
! What these processes tell cannot all be: P1 and P3. By their accounts a message would have arrived before it was sent. How their messages are ordered is not shown.
`,
		},
		"the sender tells of another message": {
			accounts: []trace.Accounts{
				saying(t, "P1", 1, account("x"), "1ms: P3/1/1 > P1 COORDINATOR P3"),
				saying(t, "P3", 1, account("x"), "1ms: P3/1/1 > P1 OK"),
			},
			want: `
 1 P1 TakesPart Asked
~1 P3 TakesPart Asked
~2 P1 Receives COORDINATOR P3
~2 P3 Sends OK P1 (no receipt)
~3 P1 Follows P3
~3 P3 Follows P3
? Of 1 messages no account of this election tells a receipt: they were lost, or arrived when their receivers had no part in it.
! What P1 tells that it received from P3, COORDINATOR, is not what P3 tells that it sent as its number 1: OK to P1.
`,
		},
		"one that tells of others, twice of one message, and of a message that arrived twice": {
			accounts: []trace.Accounts{saying(t, "P1", 1, account("x"), "1ms: P2/1/1 > P3 OK",
				"3ms: P1/1/1 > P3 OK", "2ms: P1/1/1 > P2 OK", "3ms: P3/1/9 > P1 OK", "4ms: P3/1/9 > P1 OK")},
			absent: map[string]string{"P2": "z", "P3": "z"},
			want: `
 1 P1 TakesPart Asked
 2 P1 Sends OK P3 (no receipt)
 2 P1 Sends OK P2 (no receipt)
~2 P3 Sends OK P1 (inferred)
 3 P1 Receives OK P3
 4 P1 Receives OK P3
 5 P1 Follows P3
? P2 and P3 give no account: z.
! P1 tells of a message from P2 to P3, of which it cannot know.
! P1 tells its messages in another order than its own clock has them.
! P1 tells of two messages that are its number 1: OK to P3, and OK to P2.
! What P1 tells that it received from P3, OK, is told to have arrived twice.
`,
		},
		"one that started again": {
			accounts: []trace.Accounts{
				saying(t, "P1", 1, account("x"), "1ms: P3/4/7 > P1 ELECTION P3", "2ms: P3/5/1 > P1 ELECTION P3"),
				saying(t, "P3", 5, account("x"), "0ms: P3/5/1 > P1 ELECTION P3"),
			},
			want: `
 1 P1 TakesPart Asked
~1 P3 Sends ELECTION P1 (inferred)
 2 P1 Receives ELECTION P3
~2 P3 TakesPart Asked
 3 P3 Sends ELECTION P1
 4 P1 Receives ELECTION P3
~4 P3 Follows P3
~5 P1 Follows P3
? P3 has started again in between: it tells nothing of what it did before, and others may.
`,
		},
		"one that tells its messages in another order than it has numbered them": {
			accounts: []trace.Accounts{
				saying(t, "P1", 1, account("x"), "1ms: P3/1/2 > P1 OK"),
				saying(t, "P3", 1, account("x"), "1ms: P3/1/3 > P1 OK", "2ms: P3/1/1 > P1 OK"),
			},
			want: `
 1 P1 TakesPart Asked
~1 P3 TakesPart Asked
~1 P3 Sends OK P1 (inferred)
 2 P1 Receives OK P3
~2 P3 Sends OK P1 (no receipt)
 2 P3 Sends OK P1 (no receipt)
~3 P1 Follows P3
~3 P3 Follows P3
? Of 2 messages no account of this election tells a receipt: they were lost, or arrived when their receivers had no part in it.
! P3 tells its messages in another order than it has numbered them.
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pictures := trace.Join(trace.Input{Accounts: c.accounts, Absent: c.absent})
			if len(pictures) != 1 {
				t.Fatalf("%d elections, want one", len(pictures))
			}
			if got := told(pictures[0]); got != c.want[1:] {
				t.Errorf("joined:\n%s\nwant:%s", got, c.want)
			}
		})
	}
}

// Elections are told apart, put in order, and joined with what the manager published, also those
// of which no agent tells.
func TestElectionsInOrder(t *testing.T) {
	at := func(n uint64, id, to string, epoch int64) trace.Account {
		return trace.Account{Number: n, ID: id, Coordinator: to, Epoch: epoch}
	}
	in := trace.Input{
		Accounts: []trace.Accounts{
			{Process: "P1", Elections: []trace.Account{{Number: 4}, at(3, "c", "P2", 30), at(2, "b", "P3", 21)}},
			// P2's lease was obtained again without another announcement
			{Process: "P2", Elections: []trace.Account{at(7, "c", "P2", 30), at(6, "b", "P3", 21), at(5, "b", "P3", 20)}},
		},
		Published: []trace.Picture{
			{ID: "c", Coordinator: "P2", From: "P3", Epoch: 30},
			{Coordinator: "P3", Epoch: 21},
			{ID: "b", Coordinator: "P3", Epoch: 20},
			{ID: "a", Coordinator: "P4", Epoch: 10},
		},
	}
	var got []string
	for _, p := range trace.Join(in) {
		line := fmt.Sprintf("%s %s %d:", p.ID, p.Coordinator, p.Epoch)
		for _, q := range p.Processes {
			if q.Account {
				line += " " + q.Name
			}
		}
		got = append(got, line)
	}
	want := []string{"  0: P1", "c P2 30: P1 P2", "b P3 21: P1 P2", "b P3 20: P2", "a P4 10:"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("elections %q, want %q", got, want)
	}
}
