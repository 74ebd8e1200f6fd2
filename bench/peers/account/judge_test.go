package account

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// history reads entries: "5 p1 leads, 9 p1 killed SIGTERM, 30 p2 stopped SIGSTOP 7", with instants in
// milliseconds, and for how long a fault lasts.
func history(t *testing.T, text string) []Entry {
	t.Helper()
	b := NewBook()
	for one := range strings.SplitSeq(text, ",") {
		fields := strings.Fields(one)
		at, err := time.ParseDuration(fields[0] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		e := Entry{Member: fields[1], Line: said.Line{At: register.Instant(at), Word: said.Word(fields[2])}}
		if len(fields) > 3 {
			e.Fault.Name = fields[3]
		}
		if len(fields) > 4 {
			if e.Fault.Lasts, err = time.ParseDuration(fields[4] + "ms"); err != nil {
				t.Fatal(err)
			}
		}
		b.Add(e)
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
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: Durations{10 * ms}},
		},
		"each fault has its time": {
			"5 p1 leads, 20 p1 killed SIGTERM, 21 p1 started, 23 p2 leads, 40 p2 stopped SIGSTOP, " +
				"45 p2 ceases, 46 p3 leads, 60 p2 continued, 70 p3 killed SIGTERM, 74 p1 leads",
			Figures{Strikes: 3, Leaderless: 13 * ms, Failovers: Durations{3 * ms, 6 * ms, 4 * ms},
				ByFault: map[string]Durations{"SIGTERM": {3 * ms, 4 * ms}, "SIGSTOP": {6 * ms}}},
		},
		"the killed one comes back and leads": {
			"5 p1 leads, 20 p1 killed, 21 p1 started, 34 p1 leads",
			Figures{Strikes: 1, Leaderless: 14 * ms, Failovers: Durations{14 * ms}},
		},
		"a change without a kill": {
			"5 p1 leads, 20 p1 ceases, 23 p2 leads",
			Figures{Spurious: Durations{13 * ms}, Lapses: 1, Leaderless: 3 * ms, Unprovoked: 3 * ms},
		},
		"a lapse that changes nobody": {
			"5 p1 leads, 20 p1 ceases, 23 p1 leads",
			Figures{Lapses: 1, Leaderless: 3 * ms, Unprovoked: 3 * ms},
		},
		"after a kill the new one does not stay": {
			"5 p1 leads, 20 p1 killed, 30 p2 leads, 40 p2 ceases, 45 p3 leads",
			Figures{Strikes: 1, Spurious: Durations{35 * ms}, Lapses: 1, Leaderless: 15 * ms, Unprovoked: 5 * ms, Failovers: Durations{10 * ms}},
		},
		"it had ceased before the kill": {
			"5 p1 leads, 20 p1 ceases, 22 p1 killed, 30 p2 leads",
			Figures{Spurious: Durations{20 * ms}, Lapses: 1, Leaderless: 10 * ms, Unprovoked: 10 * ms},
		},
		"a kill of a follower": {
			"5 p1 leads, 20 p2 killed, 21 p2 started, 50 p2 names",
			Figures{},
		},
		"two at once": {
			"5 p1 leads, 20 p2 leads, 27 p1 ceases",
			Figures{Spurious: Durations{10 * ms}, Lapses: 1, Two: 7 * ms},
		},
		"the old one of two is killed": {
			"5 p1 leads, 20 p2 leads, 27 p1 killed",
			Figures{Spurious: Durations{10 * ms}, Strikes: 1, Two: 7 * ms},
		},
		"what the dead say does not count": {
			"5 p1 leads, 20 p1 killed, 21 p1 leads, 22 p1 ceases, 30 p2 leads",
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: Durations{10 * ms}},
		},
		"lines come out of order": {
			"30 p2 leads, 20 p1 killed, 5 p1 leads",
			Figures{Strikes: 1, Leaderless: 10 * ms, Failovers: Durations{10 * ms}},
		},
		"no leader before the end": {
			"5 p1 leads, 80 p1 killed",
			Figures{Strikes: 1, Leaderless: 30 * ms, Unanswered: 1},
		},
		"a stopped one does not lead, and what it said late does not count": {
			"5 p1 leads, 20 p1 stopped, 21 p1 leads, 32 p2 leads, 40 p1 continued, 41 p1 ceases",
			Figures{Strikes: 1, Leaderless: 12 * ms, Two: ms, Failovers: Durations{12 * ms}},
		},
		"one that was stopped has ceased when its permission ended": {
			"5 p1 leads, 20 p1 stopped, 32 p2 leads, 40 p1 continued, 27 p1 ceases",
			Figures{Strikes: 1, Leaderless: 12 * ms, Failovers: Durations{12 * ms}},
		},
		"one that was stopped goes on": {
			"5 p1 leads, 20 p1 stopped, 50 p1 continued, 70 p2 leads, 75 p1 ceases",
			Figures{Strikes: 1, Leaderless: 30 * ms, Two: 5 * ms, Failovers: Durations{50 * ms}},
		},
		"one that was stopped goes on, ceases, and nobody leads for a while": {
			"5 p1 leads, 20 p1 stopped, 50 p1 continued, 55 p1 ceases, 90 p2 leads",
			Figures{Strikes: 1, Leaderless: 65 * ms, Failovers: Durations{70 * ms}},
		},
		"one that is cut off reaches nobody, and may act": {
			"5 p1 leads, 20 p1 cut, 26 p1 ceases, 32 p2 leads, 40 p1 mended",
			Figures{Strikes: 1, Leaderless: 12 * ms, Failovers: Durations{12 * ms}},
		},
		"one that is cut off goes on while the next one leads": {
			"5 p1 leads, 20 p1 cut, 32 p2 leads, 36 p1 ceases, 40 p1 mended",
			Figures{Strikes: 1, Leaderless: 12 * ms, Two: 4 * ms, Failovers: Durations{12 * ms}},
		},
		"one that is cut off ceases, and leads again for a moment": {
			"5 p1 leads, 20 p1 cut, 26 p1 ceases, 27 p1 leads, 30 p1 ceases, 32 p2 leads, 40 p1 mended",
			Figures{Strikes: 1, Leaderless: 12 * ms, Failovers: Durations{12 * ms}},
		},
		"and leads on when the cut is over": {
			"5 p1 leads, 20 p1 cut, 26 p1 ceases, 27 p1 leads, 50 p1 mended, 60 p1 killed, 65 p2 leads",
			Figures{Strikes: 2, Leaderless: 35 * ms, Unanswered: 1, Failovers: Durations{5 * ms}},
		},
		"a cut finds it between two permissions": {
			"5 p1 leads, 19 p1 ceases, 20 p1 cut cut, 21 p1 leads, 30 p1 ceases, 32 p2 leads, 40 p1 mended",
			Figures{
				Strikes:    1,
				Lapses:     1,
				Leaderless: 13 * ms,
				Unprovoked: 2 * ms,
				Failovers:  Durations{11 * ms},
				ByFault:    map[string]Durations{"cut": {11 * ms}},
			},
		},
		"two lead after a cut, and the one that was cut off stays": {
			"5 p1 leads, 20 p1 cut, 32 p2 leads, 40 p1 mended, 45 p2 ceases, 50 p1 killed, 59 p3 leads",
			Figures{
				Strikes:    2,
				Lapses:     1,
				Leaderless: 21 * ms,
				Two:        13 * ms,
				Failovers:  Durations{12 * ms, 9 * ms},
			},
		},
		"two lead after a cut, and the one that was cut off stays, and lapses": {
			"5 p1 leads, 20 p1 cut, 32 p2 leads, 40 p1 mended, 45 p2 killed, 50 p1 ceases, 59 p3 leads",
			Figures{
				Spurious:   Durations{49 * ms},
				Strikes:    2,
				Lapses:     1,
				Leaderless: 21 * ms,
				Unprovoked: 9 * ms,
				Two:        13 * ms,
				Failovers:  Durations{12 * ms},
			},
		},
		"one that is back, and the only one, is the leader": {
			"5 p1 leads, 20 p1 cut, 32 p2 leads, 50 p2 ceases, 60 p1 mended, 70 p1 killed, 80 p3 leads",
			Figures{
				Strikes:    2,
				Lapses:     1,
				Leaderless: 32 * ms,
				Unprovoked: 10 * ms,
				Two:        18 * ms,
				Failovers:  Durations{12 * ms, 10 * ms},
			},
		},
		"two lead, the last of them is cut off, and the other one ceases": {
			"5 p1 leads, 20 p2 leads, 30 p2 cut, 40 p1 ceases, 45 p3 leads",
			Figures{
				Strikes:    1,
				Spurious:   Durations{10 * ms, 35 * ms},
				Lapses:     1,
				Leaderless: 5 * ms,
				Unprovoked: 5 * ms,
				Two:        20*ms + 65*ms,
			},
		},
		"two lead, the last of them is killed, and the other one, which was stopped, is back": {
			"5 p1 leads, 20 p2 leads, 30 p1 stopped, 40 p2 killed, 50 p1 continued",
			Figures{
				Spurious:   Durations{10 * ms},
				Strikes:    2,
				Leaderless: 10 * ms,
				Two:        10 * ms,
				Failovers:  Durations{10 * ms},
			},
		},
		"a cut that nobody takes over in": {
			"5 p1 leads, 20 p1 cut, 50 p1 mended",
			Figures{Strikes: 1, Leaderless: 30 * ms, Unanswered: 1},
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
		c.want.Span, c.want.Minutes = 100*ms, Durations{c.want.Leaderless}
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
		failovers                    Durations
	}{
		"it is deposed at once": {
			"0 p1 leads, 1000 p1 stopped, 2000 p1 continued, 2010 p1 ceases, 6000 p2 leads",
			0, 0, 0, Durations{5 * time.Second},
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
			1, 0, 0, Durations{1500 * time.Millisecond},
		},
		"it has its lead back, and is deposed at once": {
			"0 p1 leads, 1000 p1 cut, 1055 p1 ceases, 1090 p1 mended, 1095 p1 leads, 1150 p1 ceases, 1160 p2 leads",
			0, 0, 0, Durations{160 * time.Millisecond},
		},
		"it has its lead back, and lapses for a moment": {
			"0 p1 leads, 1000 p1 cut, 1055 p1 ceases, 1090 p1 mended, 1095 p1 leads, 1150 p1 ceases, 1160 p1 leads",
			0, 0, 0, Durations{95 * time.Millisecond},
		},
		"it has its lead back, and is deposed later": {
			"0 p1 leads, 1000 p1 cut, 1055 p1 ceases, 1090 p1 mended, 1095 p1 leads, 3150 p1 ceases, 3160 p2 leads",
			0, 1, 1, Durations{95 * time.Millisecond},
		},
		"it has its lead back, and the next fault ends it": {
			"0 p1 leads, 1000 p1 cut, 1055 p1 ceases, 1090 p1 mended, 1095 p1 leads, 2150 p1 killed, 2160 p2 leads",
			0, 0, 0, Durations{95 * time.Millisecond, 10 * time.Millisecond},
		},
	} {
		got := Judge(history(t, c.history), 0, register.Instant(10*time.Second))
		if got.Unanswered != c.unanswered || len(got.Spurious) != c.spurious || got.Lapses != c.lapses ||
			!reflect.DeepEqual(got.Failovers, c.failovers) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What an interruption comes to is counted by its length: the leader goes on, has its permission
// back, or another one leads.
func TestInterruptions(t *testing.T) {
	for _, c := range []struct {
		history string
		want    []Interruption
	}{
		{
			"0 p1 leads, 1000 p1 stopped short 70, 1070 p1 continued",
			[]Interruption{{70 * time.Millisecond, Outlasted}},
		},
		{
			"0 p1 leads, 1000 p1 stopped short 90, 1055 p1 ceases, 1090 p1 continued, 1093 p1 leads",
			[]Interruption{{90 * time.Millisecond, Again}},
		},
		{
			"0 p1 leads, 1000 p1 cut short 90, 1055 p1 ceases, 1090 p1 mended, 1095 p1 leads, " +
				"4000 p1 cut short 800, 4055 p1 ceases, 4090 p2 leads, 4800 p1 mended",
			[]Interruption{{90 * time.Millisecond, Again}, {800 * time.Millisecond, Another}},
		},
		{
			"0 p1 leads, 1000 p1 cut short 90, 1090 p1 mended, 1500 p1 ceases, 1900 p2 leads",
			[]Interruption{{90 * time.Millisecond, Another}},
		},
		{
			"0 p1 leads, 1000 p1 cut short 90, 1055 p1 ceases, 1056 p1 leads, 1090 p1 mended",
			[]Interruption{{90 * time.Millisecond, Again}},
		},
		{
			"0 p1 leads, 1000 p1 stopped short 90, 1055 p1 ceases, 1090 p1 continued, 1093 p1 leads, " +
				"3000 p1 cut long 5000, 3055 p1 ceases, 3090 p2 leads",
			[]Interruption{{90 * time.Millisecond, Again}, {5 * time.Second, Another}},
		},
		{
			"0 p1 leads, 1000 p1 stopped short 90, 1090 p1 continued, " +
				"3000 p1 cut long 5000, 3055 p1 ceases, 3090 p2 leads",
			[]Interruption{{90 * time.Millisecond, Outlasted}, {5 * time.Second, Another}},
		},
		{
			"0 p1 leads, 9000 p1 stopped short 90, 9055 p1 ceases, 9090 p1 continued, 9093 p1 leads",
			[]Interruption{{90 * time.Millisecond, Again}},
		},
		{
			"0 p1 leads, 1000 p1 killed SIGKILL, 1090 p2 leads",
			nil,
		},
		{
			"0 p1 leads, 9900 p1 stopped short 500",
			nil,
		},
	} {
		got := Judge(history(t, c.history), 0, register.Instant(10*time.Second))
		if !reflect.DeepEqual(got.Interruptions, c.want) {
			t.Errorf("%s: %v, want %v", c.history, got.Interruptions, c.want)
		}
	}
}

// The time without a leader is that of the minutes in which it was.
func TestMinutes(t *testing.T) {
	got := Judge(history(t, "0 p1 leads, 50000 p1 ceases, 130000 p2 leads, 170000 p2 ceases"), 0,
		register.Instant(179*time.Second))
	want := Durations{10 * time.Second, time.Minute, 19 * time.Second}
	if !reflect.DeepEqual(got.Minutes, want) || got.Leaderless != 89*time.Second {
		t.Errorf("%v, %v in all, want %v", got.Minutes, got.Leaderless, want)
	}
}
