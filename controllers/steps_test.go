package controllers

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const second = time.Second

// votersOf reads a situation's voters from words such as "a b:gone c:ended": each is connected unless more is said of it.
func votersOf(short string) []voter {
	var all []voter
	for _, word := range strings.Fields(short) {
		name, state, _ := strings.Cut(word, ":")
		v := voter{RosterMember: v1.RosterMember{Name: name, UID: types.UID(name), Voter: new(true)}, connected: state == "",
			there: !strings.HasPrefix(state, "gone")}
		switch state {
		case "ended": // long ago
			v.ended = noon.Add(-time.Minute)
		case "ending": // half a second ago
			v.ended = noon.Add(-second / 2)
		case "left": // and has ended for certain in two seconds
			v.ends = noon.Add(2 * second)
		case "gone": // its pod, its end unknown
			v.missing, v.lost = noon, noon
		case "gone-ending":
			v.missing, v.ended = noon, noon.Add(-second/2)
		case "gone-connected": // its pod was deleted by force, and runs on
			v.missing, v.connected = noon, true
		case "leaving":
			v.missing = noon
		case "hanging": // in Terminating, for three more seconds within its grace period
			v.missing, v.lost = noon.Add(3*second), noon.Add(3*second)
		case "silent": // out of sight
		case "silent-long": // and nobody expects it back
			v.lost = noon.Add(-second)
		}
		all = append(all, v)
	}
	return all
}

func TestSteps(t *testing.T) {
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

		{"R3: one comes", "a b c", "d", long, "a b c d", 0, ""},
		{"R3: of several one comes, in ring order", "a b c", "d e f", long, "a b c d", 0, ""},
		{"R3: one comes that has been there for a lease", "a b c", "d:fresh", long, "=", second * 3 / 4, ""},
		{"R3: of several the first that has been there for a lease", "a b c", "d:fresh e", long, "a b c e", 0, ""},
		{"R4: the last step is not acknowledged", "a b c", "d", -1, "=", 0, ""},
		{"R4: it was, a lease ago", "a b c", "d", second, "=", second, ""},
		{"R4: it was, two leases ago", "a b c", "d", 2 * second, "a b c d", 0, ""},

		{"R5: one has ended", "a b c:ended", "", long, "a b", 0, ""},
		{"R5: several have ended: all go at once", "a b:ended c:ended", "", long, "a", 0, ""},
		{"R5: all have ended", "a:ended b:ended", "", long, "", 0, ""},
		{"R5: one ended just now", "a b c:ending", "", long, "=", second / 2, ""},
		{"R5: one has left, and will have ended", "a b c:left", "", long, "=", 2 * second, ""},
		{"R5: one has left, and the last step is not acknowledged", "a b c:left", "", -1, "=", 2 * second, ""},
		{"R5: one ended long ago and one just now", "a b:ended c:ending", "", long, "a c:ending", 0, ""},
		{"R5: one has ended, but the last step is not acknowledged", "a b c:ended", "", -1, "=", 0, ""},
		{"R5 goes before R3", "a b c:ended", "d", long, "a b", 0, ""},
		{"R5: also where no majority is connected: one that has ended is not needed", "a:silent b:silent c:ended", "", long, "a b", 0, ""},

		{"R6: a pod is gone", "a b c:gone", "", long, "a b", 0, ""},
		{"R6: two are gone: one step", "a b c d:gone e:gone", "", long, "a b c e", 0, ""},
		{"R6: a pod hangs, within its grace period", "a b c:hanging", "", long, "=", 3 * second, ""},
		{"R6: deleted by force, its agent runs on", "a b c:gone-connected", "", long, "a b", 0, ""},
		{"R6: one leaves, and still answers", "a b c:leaving", "", long, "a b", 0, ""},
		{"R6: of three two leave: without the first there would be no majority of two", "a b:leaving c:leaving", "", long, "=", 0, ""},
		{"R6: those that remain have no majority connected", "a b:silent c:gone", "", long, "=", 0, ""},
		{"R6: nor would two of four be one of three if one has ended just now", "a b:ending c:silent d:gone", "", long, "=", second / 2, ""},
		{"R6: one that ended just now and whose pod is gone goes as one step", "a b c:gone-ending", "", long, "a b", 0, ""},
		{"R6 goes before R3", "a b c:gone", "d", long, "a b", 0, ""},

		{"R6: of two one is gone, and the other alone is a majority of one", "a b:gone", "", long, "a", 0, ""},
		{"R6: of four two are gone: one step", "a b c:gone d:gone", "", long, "a b d", 0, ""},
		{"R7: of two one is gone before it has acknowledged the last step", "a b:gone", "", -1, "=", 0, "b"},
		{"R7: of three two are gone", "a b:gone c:gone", "", long, "=", 0, "b c"},
		{"R7: of five three are gone", "a b c:gone d:gone e:gone", "", long, "=", 0, "c d e"},
		{"R7: also while the last step is not acknowledged", "a b:gone c:gone", "", -1, "=", 0, "b c"},
		{"R7: out of sight is not lost", "a b:silent c:silent", "", long, "=", 0, ""},
		{"R7: nobody expects them back", "a b:silent-long c:silent-long", "", long, "=", 0, "b c"},
		{"R7: the only voter is gone", "a:gone", "", long, "=", 0, "a"},
		{"R7: one has ended, and of those that are left there is no majority", "a b:gone c:ending", "", second / 2, "=", second / 2, ""},
		{"R7: a newcomer makes no majority", "a b:gone c:gone", "d", long, "=", 0, "b c"},
		{"a newcomer does not come where there would be no majority", "a b:silent c:silent", "d", long, "=", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := situation{now: noon, wait: second, settle: 2 * second, voters: votersOf(test.voters), acked: noon.Add(-test.acked)}
			if test.acked < 0 {
				s.acked = time.Time{}
			}
			for _, v := range votersOf(test.joined) {
				c := candidate{RosterMember: v.RosterMember, since: noon.Add(-time.Minute)}
				if !v.connected {
					c.since = noon.Add(-second / 4) // "d:fresh"
				}
				s.joined = append(s.joined, c)
			}
			next := nextStep(s)
			want, changed := strings.ReplaceAll(test.want, ":ending", ""), true
			if test.want == "=" {
				want, changed = namesOf(membersIn(s.voters, func(voter) bool { return true })), false
			}
			if got := namesOf(next.voters); got != want || next.changed != changed {
				t.Errorf("next voters %q (changed %v), want %q", got, next.changed, test.want)
			}
			if lost := strings.Join(next.lost, " "); next.again != test.again || lost != test.lost {
				t.Errorf("again in %v, lost %q; want %v, %q", next.again, lost, test.again, test.lost)
			}
		})
	}
}

// Of the voters that are lost some may only be out of the manager's sight.
func TestSilentVotersAreToldApart(t *testing.T) {
	for voters, want := range map[string]string{
		"a b:gone c:gone": "", "a b:silent-long c:gone": "b", "a b:silent-long c:silent-long": "b c", "a b c:silent-long": "",
	} {
		if got := strings.Join(nextStep(situation{now: noon, wait: second, voters: votersOf(voters)}).silent, " "); got != want {
			t.Errorf("%s: silent %q, want %q", voters, got, want)
		}
	}
}

func TestFounding(t *testing.T) {
	joined := []candidate{{RosterMember: v1.RosterMember{Name: "a", UID: "a"}}, {RosterMember: v1.RosterMember{Name: "b", UID: "b"}}}
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
		next := nextStep(situation{now: noon, wait: second, joined: test.joined, founding: test.founding})
		if got := namesOf(next.voters); got != test.want || next.again != test.again || next.changed != (test.want != "") {
			t.Errorf("%s: voters %q again in %v, want %q, %v", test.name, got, next.again, test.want, test.again)
		}
		for _, m := range next.voters {
			if !isVoter(m) {
				t.Errorf("%s: %s was founded without a vote", test.name, m.Name)
			}
		}
	}
}

func namesOf(members []v1.RosterMember) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return strings.Join(names, " ")
}
