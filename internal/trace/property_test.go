package trace_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/trace"
)

// random makes the accounts of a run in which processes send at random, messages are delayed, lost
// or overtaken by none on their link, and every clock is its own.
func random(r *rand.Rand, processes, messages int) []trace.Accounts {
	all := make([]trace.Accounts, processes)
	clock := make([]int64, processes)
	for i := range all {
		clock[i] = r.Int64N(1000)
		e := trace.Account{Number: 1, ID: "P1/1/1", Coordinator: "P2", Microseconds: 1 << 40}
		all[i] = trace.Accounts{Process: fmt.Sprintf("P%d", i+1), Incarnation: uint64(r.IntN(3) + 1)}
		all[i].Elections = []trace.Account{e}
	}
	type underWay struct {
		to int
		m  trace.Message
	}
	var way []underWay
	sequence := make([]uint64, processes)
	tell := func(i int, m trace.Message) {
		clock[i] += r.Int64N(50)
		m.Microseconds = clock[i]
		e := &all[i].Elections[0]
		e.Messages = append(e.Messages, m)
	}
	for len(way) > 0 || messages > 0 {
		if messages > 0 && r.IntN(2) == 0 {
			messages--
			from, to := r.IntN(processes), r.IntN(processes)
			if from == to {
				continue
			}
			sequence[from]++
			m := trace.Message{From: all[from].Process, To: all[to].Process, Kind: "ELECTION",
				Incarnation: all[from].Incarnation, Sequence: sequence[from]}
			tell(from, m)
			if r.IntN(8) > 0 {
				way = append(way, underWay{to, m})
			}
		} else if len(way) > 0 {
			at := r.IntN(len(way))
			tell(way[at].to, way[at].m)
			way = slices.Delete(way, at, at+1)
		}
	}
	return all
}

// lie changes an account as nobody honest would.
func lie(r *rand.Rand, all []trace.Accounts) {
	e := &all[r.IntN(len(all))].Elections[0]
	if len(e.Messages) < 2 {
		return
	}
	i, j := r.IntN(len(e.Messages)), r.IntN(len(e.Messages))
	switch r.IntN(4) {
	case 0:
		a, b := &e.Messages[i], &e.Messages[j]
		a.From, b.From, a.To, b.To = b.From, a.From, b.To, a.To
	case 1:
		e.Messages[i].Sequence = e.Messages[j].Sequence
	case 2:
		slices.Reverse(e.Messages)
	case 3:
		e.Messages[i].Incarnation++
	}
}

// checkPicture sees that a picture is an order, whatever it was made of.
func checkPicture(p trace.Picture) error {
	own := map[string]int64{}
	for i, e := range p.Events {
		if e.Number != i+1 {
			return fmt.Errorf("event %d is in place %d", e.Number, i+1)
		}
		for _, before := range e.After {
			if b := p.Events[before-1]; before >= e.Number || b.Step > e.Step ||
				b.Step == e.Step && b.Process != e.Process {
				return fmt.Errorf("%+v is listed after %+v, and the steps are %d and %d", b, e, b.Step, e.Step)
			}
		}
		if e.What == trace.Receives && e.Pair > 0 {
			s := p.Events[e.Pair-1]
			if s.What != trace.Sends || s.Pair != e.Number || s.Peer != e.Process ||
				s.Process != e.Peer || s.Kind != e.Kind {
				return fmt.Errorf("%+v is paired with %+v", e, s)
			}
			if len(p.Contradictions) == 0 && s.Number > e.Number {
				return fmt.Errorf("%+v is received before it is sent", e)
			}
		}
		if !e.Inferred && len(p.Contradictions) == 0 {
			if at := *e.Microseconds; at < own[e.Process] {
				return fmt.Errorf("%+v is listed after a later one of its process", e)
			}
			own[e.Process] = *e.Microseconds
		}
	}
	return nil
}

// TestJoinedIsAnOrder: whatever is told by however many, nothing is received before it is sent,
// each process's order is kept, and the order in which the accounts come makes no difference. Liars
// change nothing of the first two but for their own messages, and nothing of the third.
func TestJoinedIsAnOrder(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := random(r, 2+r.IntN(5), r.IntN(40))
		all = slices.DeleteFunc(all, func(trace.Accounts) bool { return r.IntN(6) == 0 })
		if len(all) == 0 {
			continue
		}
		liars := r.IntN(3)
		for range liars {
			lie(r, all)
		}
		pictures := trace.Join(trace.Input{Accounts: all})
		for _, p := range pictures {
			if err := checkPicture(p); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, told(p))
			}
			if liars == 0 && len(p.Contradictions) > 0 {
				t.Errorf("seed %d: nobody lies, and it says %q", seed, p.Contradictions)
			}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = append(all, all[0]) // asked twice
		if again := trace.Join(trace.Input{Accounts: all}); !reflect.DeepEqual(again, pictures) {
			t.Fatalf("seed %d: in another order they are joined to\n%s\nnot\n%s", seed, told(again[0]),
				told(pictures[0]))
		}
	}
}

// As much as there may be is joined in bounded time.
func TestJoinIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := random(r, 250, 8000)
	began := time.Now()
	p := trace.Join(trace.Input{Accounts: all})[0]
	if took := time.Since(began); len(p.Events) < 10_000 || took > 30*time.Second {
		t.Errorf("%d events were joined in %v", len(p.Events), took)
	}
	var strangers []trace.Message
	for i := range 5000 {
		strangers = append(strangers, trace.Message{From: fmt.Sprint(i), To: "P1", Sequence: 1})
	}
	all[0].Elections[0].Messages = strangers
	p = trace.Join(trace.Input{Accounts: all[:1]})[0]
	if len(p.Processes) > 300 || len(p.Unknown) == 0 {
		t.Errorf("a liar invents %d processes, and it is said %q", len(p.Processes), p.Unknown)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"process": "P1", "elections": [{"number": 1, "messages": [{"from": "P1", "to": "P2"}]}]}`)
	f.Add(`[]`)
	f.Add(`{"elections": null}`)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := trace.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, p := range trace.Join(trace.Input{Accounts: []trace.Accounts{a}}) {
			if err := checkPicture(p); err != nil {
				t.Error(err)
			}
		}
	})
}

// Of what is longer than anything that an agent tells, the newest is used.
func TestReadIsBounded(t *testing.T) {
	long := trace.Accounts{Process: strings.Repeat("x", 10_000)}
	for i := range 100 {
		e := trace.Account{Number: uint64(100 - i), ID: strings.Repeat("y", 1000)}
		for j := range 300 {
			e.Messages = append(e.Messages, trace.Message{Microseconds: int64(j)})
		}
		long.Elections = append(long.Elections, e)
	}
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	a, err := trace.Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	e := a.Elections[0]
	if len(a.Process) > 400 || len(a.Elections) > 20 || len(e.ID) > 400 || e.Number != 100 ||
		len(e.Messages) != 256 || e.Omitted != 44 || e.Messages[255].Microseconds != 299 {
		t.Errorf("of %d bytes it uses %d elections, the first with %d messages", len(text),
			len(a.Elections), len(e.Messages))
	}
	if _, err := trace.Read(strings.NewReader(strings.Repeat(" ", trace.MaxBytes+1))); err == nil {
		t.Error("an answer without end is read")
	}
}
