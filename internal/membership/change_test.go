package membership

import (
	"strings"
	"testing"
	"time"
)

// read returns voters from words such as "a b:gone c:ended": each is connected unless more is said.
func read(short string) []voter {
	var all []voter
	for _, word := range strings.Fields(short) {
		name, state, _ := strings.Cut(word, ":")
		v := voter{Member: &Member{Name: name, UID: name, Voter: true}, connected: state == ""}
		if !strings.HasPrefix(state, "gone") {
			v.pod = &Pod{Name: name, UID: name}
		}
		switch state {
		case "ended": // long ago
			v.end.at = noon.Add(-time.Minute)
		case "ending": // half a second ago
			v.end.at = noon.Add(-second / 2)
		case "ending-connected": // its connection has not been closed yet
			v.end.at, v.connected = noon.Add(-second/2), true
		case "left": // it will have ended for certain in two seconds
			v.end.at = noon.Add(2 * second)
		case "gone": // its pod is gone without proof that it ended
			v.missing, v.lost = noon, noon
		case "gone-ending":
			v.missing, v.end.at = noon, noon.Add(-second/2)
		case "gone-connected": // its pod was deleted by force, and runs on
			v.missing, v.connected = noon, true
		case "leaving":
			v.missing = noon
		case "hanging": // in Terminating, for three more seconds within its grace period
			v.missing, v.lost = noon.Add(3*second), noon.Add(3*second)
		case "silent": // it does not report
		case "silent-long": // and nobody expects it back
			v.lost = noon.Add(-second)
		case "silent-ended": // and has ended a moment ago
			v.lost, v.end.at = noon.Add(-second), noon.Add(-second/2)
		}
		all = append(all, v)
	}
	return all
}

func namesOf(voters []voter) string {
	names := make([]string, len(voters))
	for i := range voters {
		names[i] = voters[i].Name
	}
	return strings.Join(names, " ")
}

func TestChange(t *testing.T) {
	const long = time.Hour
	for _, test := range []struct {
		name, voters, joined string
		acked                time.Duration // ago; negative: not yet
		want                 string        // the voters of the next step; "=" is no change
		again                time.Duration
		lost                 string
	}{
		{"nothing to do", "a b c", "", long, "=", 0, ""},
		{"nothing to do, and not acknowledged", "a b c", "", -1, "=", 0, ""},

		{"MC3: one comes", "a b c", "d", long, "a b c d", 0, ""},
		{"MC3: of several one comes, in ring order", "a b c", "d e f", long, "a b c d", 0, ""},
		{"MC3: one comes that has been there for a lease", "a b c", "d:fresh", long, "=", second * 3 / 4, ""},
		{"MC3: of several the first that has been there for a lease", "a b c", "d:fresh e", long, "a b c e", 0, ""},
		{"MC4: the last step is not acknowledged", "a b c", "d", -1, "=", 0, ""},
		{"MC4: it was, a lease ago", "a b c", "d", second, "=", second, ""},
		{"MC4: it was, two leases ago", "a b c", "d", 2 * second, "a b c d", 0, ""},

		{"MC5: one has ended", "a b c:ended", "", long, "a b", 0, ""},
		{"MC5: several have ended: all go at once", "a b:ended c:ended", "", long, "a", 0, ""},
		{"MC5: all have ended", "a:ended b:ended", "", long, "", 0, ""},
		{"MC5: one ended just now", "a b c:ending", "", long, "=", second / 2, ""},
		{"MC5: one has left, and will have ended", "a b c:left", "", long, "=", 2 * second, ""},
		{"MC5: one has left, and the last step is not acknowledged", "a b c:left", "", -1, "=", 2 * second, ""},
		{"MC5: one ended long ago and one just now", "a b:ended c:ending", "", long, "a c:ending", 0, ""},
		{"MC5: one has ended, but the last step is not acknowledged", "a b c:ended", "", -1, "=", 0, ""},
		{"MC5 goes before MC3", "a b c:ended", "d", long, "a b", 0, ""},
		{"MC5: also where no majority is connected: one that has ended is not needed", "a:silent b:silent c:ended", "", long, "a b", 0, ""},

		{"MC6: a pod is gone", "a b c:gone", "", long, "a b", 0, ""},
		{"MC6: two are gone: one step", "a b c d:gone e:gone", "", long, "a b c e", 0, ""},
		{"MC6: a pod hangs, within its grace period", "a b c:hanging", "", long, "=", 3 * second, ""},
		{"MC6: deleted by force, its agent runs on", "a b c:gone-connected", "", long, "a b", 0, ""},
		{"MC6: one leaves, and still answers", "a b c:leaving", "", long, "a b", 0, ""},
		{"MC6: of three two leave: without the first there would be no majority of two", "a b:leaving c:leaving", "", long, "=", 0, ""},
		{"MC6: those that remain have no majority connected", "a b:silent c:gone", "", long, "=", 0, ""},
		{"MC6: nor would two of four be one of three if one has ended just now", "a b:ending c:silent d:gone", "", long, "=", second / 2, ""},
		{"MC6: nor if its connection has not been closed yet", "a b:ending-connected c:silent d:gone", "", long, "=", second / 2, ""},
		{"MC6: one that ended just now and whose pod is gone goes as one step", "a b c:gone-ending", "", long, "a b", 0, ""},
		{"MC6 goes before MC3", "a b c:gone", "d", long, "a b", 0, ""},

		{"MC6: of two one is gone, and the other alone is a majority of one", "a b:gone", "", long, "a", 0, ""},
		{"MC6: of four two are gone: one step", "a b c:gone d:gone", "", long, "a b d", 0, ""},
		{"MC7: of two one is gone before it has acknowledged the last step", "a b:gone", "", -1, "=", 0, "b"},
		{"MC7: of three two are gone", "a b:gone c:gone", "", long, "=", 0, "b c"},
		{"MC7: of five three are gone", "a b c:gone d:gone e:gone", "", long, "=", 0, "c d e"},
		{"MC7: also while the last step is not acknowledged", "a b:gone c:gone", "", -1, "=", 0, "b c"},
		{"MC7: out of sight is not lost", "a b:silent c:silent", "", long, "=", 0, ""},
		{"MC7: nobody expects them back", "a b:silent-long c:silent-long", "", long, "=", 0, "b c"},
		{"MC7: the only voter is gone", "a:gone", "", long, "=", 0, "a"},
		{"MC7: one has ended, and of those that are left there is no majority", "a b:gone c:ending", "", second / 2, "=", second / 2, ""},
		{"MC7: a newcomer makes no majority", "a b:gone c:gone", "d", long, "=", 0, "b c"},
		{"a newcomer does not come where there would be no majority", "a b:silent c:silent", "d", long, "=", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := situation{
				now:          noon,
				wait:         second,
				changeAfter:  2 * second,
				voters:       read(test.voters),
				acknowledged: noon.Add(-test.acked),
			}
			if test.acked < 0 {
				s.acknowledged = time.Time{}
			}
			for _, v := range read(test.joined) {
				c := candidate{voter: v, since: noon.Add(-time.Minute)}
				if !v.connected {
					c.since = noon.Add(-second / 4) // "d:fresh"
				}
				s.joined = append(s.joined, c)
			}
			next := s.next()
			want, changed := strings.ReplaceAll(test.want, ":ending", ""), true
			if test.want == "=" {
				want, changed = namesOf(s.voters), false
			}
			if got := namesOf(next.voters); got != want || (next.why != Unchanged) != changed {
				t.Errorf("next voters %q (%q), want %q", got, next.why, test.want)
			}
			if lost := strings.Join(next.lost, " "); next.again != test.again || lost != test.lost {
				t.Errorf("again in %v, lost %q; want %v, %q", next.again, lost, test.again,
					test.lost)
			}
		})
	}
}

// Some of the voters that are lost may only be cut off from the manager.
func TestSilentVotersAreNamed(t *testing.T) {
	for voters, want := range map[string]string{
		"a b:gone c:gone":                       "",
		"a b:silent-long c:gone":                "b",
		"a b:silent-long c:gone d:silent-ended": "b",
		"a b:silent-long c:silent-long":         "b c",
		"a b c:silent-long":                     "",
	} {
		s := situation{now: noon, wait: second, voters: read(voters)}
		if got := strings.Join(s.next().silent, " "); got != want {
			t.Errorf("%s: silent %q, want %q", voters, got, want)
		}
	}
}

func TestFounding(t *testing.T) {
	var joined []candidate
	for _, v := range read("a b") {
		joined = append(joined, candidate{voter: v})
	}
	for _, test := range []struct {
		name     string
		joined   []candidate
		founding time.Time
		want     string
		again    time.Duration
	}{
		{"nobody has joined", nil, time.Time{}, "", 0},
		{"some have, others may come", joined, noon.Add(2 * second), "", 2 * second},
		{"it is time", joined, noon, "a b", 0},
	} {
		s := situation{now: noon, wait: second, joined: test.joined, founding: test.founding}
		next := s.next()
		founded := next.why == Founded
		if got := namesOf(next.voters); got != test.want || next.again != test.again ||
			founded != (test.want != "") {
			t.Errorf("%s: voters %q again in %v, want %q, %v", test.name, got, next.again,
				test.want, test.again)
		}
		for _, v := range next.voters {
			if !v.Voter {
				t.Errorf("%s: %s was founded without a vote", test.name, v.Name)
			}
		}
	}
}
