package account

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// history reads entries: "5 p1 leads, 9 p1 killed", with instants in milliseconds.
func history(t *testing.T, text string) []Entry {
	t.Helper()
	b := NewBook()
	for one := range strings.SplitSeq(text, ",") {
		fields := strings.Fields(one)
		at, err := time.ParseDuration(fields[0] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		b.Add(Entry{Member: fields[1], Line: said.Line{At: register.Instant(at), Word: said.Word(fields[2])}})
	}
	return b.Entries()
}

func TestJudge(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		history string
		want    Figures
	}{
		"one leads all the time": {
			"5 p1 leads",
			Figures{},
		},
		"nobody ever": {
			"5 p1 names",
			Figures{Leaderless: 100 * ms, Unprovoked: 100 * ms},
		},
		"a kill causes the change": {
			"5 p1 leads, 20 p1 killed, 21 p1 started, 30 p2 leads",
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: []time.Duration{10 * ms}},
		},
		"each fault has its time": {
			"5 p1 leads, 20 p1 killed, 21 p1 started, 23 p2 leads, 40 p2 stopped, " +
				"45 p2 ceases, 46 p3 leads, 60 p2 continued, 70 p3 killed, 74 p1 leads",
			Figures{Strikes: 3, Leaderless: 13 * ms, Failovers: []time.Duration{3 * ms, 6 * ms, 4 * ms}},
		},
		"the killed one comes back and leads": {
			"5 p1 leads, 20 p1 killed, 21 p1 started, 34 p1 leads",
			Figures{Strikes: 1, Leaderless: 14 * ms, Failovers: []time.Duration{14 * ms}},
		},
		"a change without a kill": {
			"5 p1 leads, 20 p1 ceases, 23 p2 leads",
			Figures{Spurious: 1, Lapses: 1, Leaderless: 3 * ms, Unprovoked: 3 * ms},
		},
		"a lapse that changes nobody": {
			"5 p1 leads, 20 p1 ceases, 23 p1 leads",
			Figures{Lapses: 1, Leaderless: 3 * ms, Unprovoked: 3 * ms},
		},
		"after a kill the new one does not stay": {
			"5 p1 leads, 20 p1 killed, 30 p2 leads, 40 p2 ceases, 45 p3 leads",
			Figures{Strikes: 1, Spurious: 1, Lapses: 1, Leaderless: 15 * ms, Unprovoked: 5 * ms, Failovers: []time.Duration{10 * ms}},
		},
		"it had ceased before the kill": {
			"5 p1 leads, 20 p1 ceases, 22 p1 killed, 30 p2 leads",
			Figures{Spurious: 1, Lapses: 1, Leaderless: 10 * ms, Unprovoked: 10 * ms},
		},
		"a kill of a follower": {
			"5 p1 leads, 20 p2 killed, 21 p2 started, 50 p2 names",
			Figures{},
		},
		"two at once": {
			"5 p1 leads, 20 p2 leads, 27 p1 ceases",
			Figures{Spurious: 1, Lapses: 1, Two: 7 * ms},
		},
		"the old one of two is killed": {
			"5 p1 leads, 20 p2 leads, 27 p1 killed",
			Figures{Spurious: 1, Strikes: 1, Two: 7 * ms},
		},
		"what the dead say does not count": {
			"5 p1 leads, 20 p1 killed, 21 p1 leads, 22 p1 ceases, 30 p2 leads",
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: []time.Duration{10 * ms}},
		},
		"lines come out of order": {
			"30 p2 leads, 20 p1 killed, 5 p1 leads",
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: []time.Duration{10 * ms}},
		},
		"no leader before the end": {
			"5 p1 leads, 80 p1 killed",
			Figures{Strikes: 1, Leaderless: 30 * ms, Unanswered: 1},
		},
		"a stopped one does not lead, and what it said late does not count": {
			"5 p1 leads, 20 p1 stopped, 21 p1 leads, 32 p2 leads, 40 p1 continued, 41 p1 ceases",
			Figures{Strikes: 1, Leaderless: 12 * ms, Two: ms, Failovers: []time.Duration{12 * ms}},
		},
		"one that was stopped has ceased when its permission ended": {
			"5 p1 leads, 20 p1 stopped, 32 p2 leads, 40 p1 continued, 27 p1 ceases",
			Figures{Strikes: 1, Leaderless: 12 * ms, Failovers: []time.Duration{12 * ms}},
		},
		"one that was stopped goes on": {
			"5 p1 leads, 20 p1 stopped, 50 p1 continued, 70 p2 leads, 75 p1 ceases",
			Figures{Strikes: 1, Leaderless: 30 * ms, Two: 5 * ms, Failovers: []time.Duration{50 * ms}},
		},
		"one that was stopped goes on, ceases, and nobody leads for a while": {
			"5 p1 leads, 20 p1 stopped, 50 p1 continued, 55 p1 ceases, 90 p2 leads",
			Figures{Strikes: 1, Leaderless: 65 * ms, Failovers: []time.Duration{70 * ms}},
		},
		"one that is stopped ceases, and leads again when it is back": {
			"5 p1 leads, 20 p1 stopped, 26 p1 ceases, 50 p1 continued, 51 p1 leads, 60 p1 killed, 65 p2 leads",
			Figures{Strikes: 2, Leaderless: 36 * ms, Failovers: []time.Duration{31 * ms, 5 * ms}},
		},
		"two lead after a stop, and the one that was stopped stays": {
			"5 p1 leads, 20 p1 stopped, 32 p2 leads, 40 p1 continued, 45 p2 ceases, 50 p1 killed, 59 p3 leads",
			Figures{
				Strikes:    2,
				Leaderless: 21 * ms,
				Two:        5 * ms,
				Failovers:  []time.Duration{12 * ms, 9 * ms},
			},
		},
		"two lead, the last of them is killed, and the other one, which was stopped, is back": {
			"5 p1 leads, 20 p2 leads, 30 p1 stopped, 40 p2 killed, 50 p1 continued",
			Figures{
				Spurious:   1,
				Strikes:    2,
				Leaderless: 10 * ms,
				Two:        10 * ms,
				Failovers:  []time.Duration{10 * ms},
			},
		},
		"what is after the end does not count": {
			"5 p1 leads, 120 p1 ceases, 130 p2 leads",
			Figures{},
		},
		"a change before the span does not count": {
			"1 p1 leads, 2 p1 ceases, 3 p2 leads",
			Figures{},
		},
		"nor does a kill, but the time without a leader does": {
			"1 p1 leads, 2 p1 killed, 15 p2 leads",
			Figures{Leaderless: 5 * ms, Unprovoked: 5 * ms},
		},
	} {
		c.want.Span = 100 * ms
		got := Judge(history(t, c.history), register.Instant(10*ms), register.Instant(110*ms))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// A member that leads on after a fault has outlasted it. Only what becomes of it soon was caused by
// the fault.
func TestAftermath(t *testing.T) {
	for name, c := range map[string]struct {
		history                      string
		unanswered, spurious, lapses int
		failovers                    []time.Duration
	}{
		"it is deposed at once": {
			"0 p1 leads, 1000 p1 stopped, 2000 p1 continued, 2010 p1 ceases, 6000 p2 leads",
			0, 0, 0, []time.Duration{5 * time.Second},
		},
		"it leads on": {
			"0 p1 leads, 1000 p1 stopped, 2000 p1 continued",
			1, 0, 0, nil,
		},
		"it leads on, and is deposed later": {
			"0 p1 leads, 1000 p1 stopped, 2000 p1 continued, 4001 p1 ceases, 5000 p2 leads",
			1, 1, 1, nil,
		},
		"it leads on, and the next fault ends it": {
			"0 p1 leads, 1000 p1 stopped, 2000 p1 continued, 3000 p1 killed, 4500 p2 leads",
			1, 0, 0, []time.Duration{1500 * time.Millisecond},
		},
		"it has its lead back, and is deposed at once": {
			"0 p1 leads, 1000 p1 stopped, 1055 p1 ceases, 1090 p1 continued, 1095 p1 leads, 1150 p1 ceases, 1160 p2 leads",
			0, 0, 0, []time.Duration{95 * time.Millisecond},
		},
		"it has its lead back, and lapses for a moment": {
			"0 p1 leads, 1000 p1 stopped, 1055 p1 ceases, 1090 p1 continued, 1095 p1 leads, 1150 p1 ceases, 1160 p1 leads",
			0, 0, 0, []time.Duration{95 * time.Millisecond},
		},
		"it has its lead back, and is deposed later": {
			"0 p1 leads, 1000 p1 stopped, 1055 p1 ceases, 1090 p1 continued, 1095 p1 leads, 3150 p1 ceases, 3160 p2 leads",
			0, 1, 1, []time.Duration{95 * time.Millisecond},
		},
		"it has its lead back, and the next fault ends it": {
			"0 p1 leads, 1000 p1 stopped, 1055 p1 ceases, 1090 p1 continued, 1095 p1 leads, 2150 p1 killed, 2160 p2 leads",
			0, 0, 0, []time.Duration{95 * time.Millisecond, 10 * time.Millisecond},
		},
	} {
		got := Judge(history(t, c.history), 0, register.Instant(10*time.Second))
		if got.Unanswered != c.unanswered || got.Spurious != c.spurious || got.Lapses != c.lapses ||
			!reflect.DeepEqual(got.Failovers, c.failovers) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
