package transport

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/tenure"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

func somePetition() tenure.Petition {
	return tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(27993600, 3), Round: 1 << 63, Lease: time.Second,
		Held: true, Heir: "c"}
}

func someVerdict() tenure.Verdict {
	return tenure.Verdict{Kind: tenure.Claim, Epoch: tenure.NewEpoch(27993600, 3), Round: 1 << 63, Granted: true, Candidate: true,
		Generation: 27993600, Highest: tenure.NewEpoch(27993600, 4), Holder: "c", HolderEpoch: tenure.NewEpoch(27993600, 2),
		Remaining: 817 * time.Microsecond, Heard: true}
}

func TestAPetitionAndItsVerdictArriveWhole(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 7), f.join("b", 5)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		a.Petition("b", somePetition())
		heard, ok := next(t, b).(Petitioned)
		answer := heard.Answer
		heard.Answer = nil
		want := Petitioned{From: "a", Incarnation: 7, Memory: "memory-a", Petition: somePetition()}
		if !ok || !reflect.DeepEqual(heard, want) {
			t.Fatalf("heard %#v\nwant  %#v", heard, want)
		}
		answer(someVerdict())
		expect(t, a, Decided{From: "b", Incarnation: 5, Memory: "memory-b", Verdict: someVerdict()})
	})
}

func TestPetitionsKeepTheirOrderAmongEverythingElse(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		for i := range 10 {
			a.Send("b", "Bully", say(i))
			a.Petition("b", tenure.Petition{Kind: tenure.Sound, Round: uint64(i)})
		}
		for i := range 10 {
			expect(t, b, heard("a", 1, i))
			if p := next(t, b).(Petitioned); p.Petition.Round != uint64(i) {
				t.Fatalf("petition %d came, want %d", p.Petition.Round, i)
			}
		}
	})
}

func TestAPetitionForNobodyIsDroppedAndALateVerdictHarmsNobody(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		a.Petition("unknown", somePetition())
		a.Petition("b", tenure.Petition{Kind: "DEMAND"})
		a.Petition("b", tenure.Petition{Kind: tenure.Claim, Epoch: -1})
		if n := a.Dropped(); n != 3 {
			t.Errorf("%d dropped, want 3", n)
		}
		a.Petition("b", somePetition())
		late := next(t, b).(Petitioned)
		late.Answer(tenure.Verdict{Kind: "DEMAND"}) // nobody would accept it: it is not sent
		late.Answer(someVerdict())
		expect(t, a, Decided{From: "b", Incarnation: 1, Memory: "memory-b", Verdict: someVerdict()})
		f.kill("a")
		for range 100 {
			late.Answer(someVerdict()) // must neither block nor harm
		}
	})
}

func TestBoundsOfPetitions(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*linkpb.Petition)
		want   string // a part of the error; empty: it is accepted
	}{
		"as it is":           {func(*linkpb.Petition) {}, ""},
		"the highest epoch":  {func(p *linkpb.Petition) { p.Epoch = 1<<53 - 1 }, ""},
		"no epoch":           {func(p *linkpb.Petition) { p.Epoch = 0 }, ""},
		"the longest lease":  {func(p *linkpb.Petition) { p.LeaseMicroseconds = 3_600_000_000 }, ""},
		"a higher epoch":     {func(p *linkpb.Petition) { p.Epoch = 1 << 53 }, "epoch 9007199254740992"},
		"a lower epoch":      {func(p *linkpb.Petition) { p.Epoch = -1 }, "epoch -1"},
		"a longer lease":     {func(p *linkpb.Petition) { p.LeaseMicroseconds = 3_600_000_001 }, "want 0 to 1h"},
		"the longest number": {func(p *linkpb.Petition) { p.LeaseMicroseconds = math.MaxInt64 }, "want 0 to 1h"},
		"less than no lease": {func(p *linkpb.Petition) { p.LeaseMicroseconds = math.MinInt64 }, "want 0 to 1h"},
		"a longer heir":      {func(p *linkpb.Petition) { p.Heir = strings.Repeat("x", maxNameBytes+1) }, "254 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			frame, err := encodePetition(somePetition())
			if err != nil {
				t.Fatal(err)
			}
			tc.change(frame.GetPetition())
			_, known, err := decodePetition(frame.GetPetition())
			wantError(t, known, err, tc.want)
		})
	}
}

func TestBoundsOfVerdicts(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*linkpb.Verdict)
		want   string
	}{
		"as it is":                  {func(*linkpb.Verdict) {}, ""},
		"the highest generation":    {func(v *linkpb.Verdict) { v.Generation = 1<<33 - 1 }, ""},
		"the longest memory":        {func(v *linkpb.Verdict) { v.Memory = strings.Repeat("x", maxMemoryBytes) }, ""},
		"no memory":                 {func(v *linkpb.Verdict) { v.Memory = "" }, ""},
		"a lower epoch":             {func(v *linkpb.Verdict) { v.Epoch = -1 }, "epoch -1"},
		"a higher highest":          {func(v *linkpb.Verdict) { v.Highest = 1 << 53 }, "epoch 9007199254740992"},
		"a higher holder's epoch":   {func(v *linkpb.Verdict) { v.HolderEpoch = 1 << 53 }, "epoch 9007199254740992"},
		"a higher generation":       {func(v *linkpb.Verdict) { v.Generation = 1 << 33 }, "generation 8589934592"},
		"a lower generation":        {func(v *linkpb.Verdict) { v.Generation = -1 }, "generation -1"},
		"less than nothing remains": {func(v *linkpb.Verdict) { v.RemainingMicroseconds = -1 }, "want 0 to 1h"},
		"more than a lease remains": {func(v *linkpb.Verdict) { v.RemainingMicroseconds = math.MaxInt64 }, "want 0 to 1h"},
		"a longer holder":           {func(v *linkpb.Verdict) { v.Holder = strings.Repeat("x", maxNameBytes+1) }, "254 bytes"},
		"a longer memory":           {func(v *linkpb.Verdict) { v.Memory = strings.Repeat("x", maxMemoryBytes+1) }, "65 bytes"},
		"a memory of two lines":     {func(v *linkpb.Verdict) { v.Memory = "a\nb" }, "printable ASCII"},
		"a memory of other letters": {func(v *linkpb.Verdict) { v.Memory = "é" }, "printable ASCII"},
	} {
		t.Run(what, func(t *testing.T) {
			answer, err := encodeVerdict(someVerdict(), "m", 1)
			if err != nil {
				t.Fatal(err)
			}
			tc.change(answer.GetVerdict())
			_, known, err := decodeVerdict(answer.GetVerdict())
			wantError(t, known, err, tc.want)
		})
	}
}

func wantError(t *testing.T, known bool, err error, part string) {
	t.Helper()
	if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
		t.Errorf("error %v, want %q", err, part)
	}
	if !known {
		t.Error("its kind is not known")
	}
}

// What is out of bounds in a petition of a kind to come is for those to judge who know it.
func TestAKindToComeIsPassedOver(t *testing.T) {
	if _, known, err := decodePetition(&linkpb.Petition{Kind: "DEMAND", Epoch: -1}); known || err != nil {
		t.Errorf("a petition: known %t, error %v", known, err)
	}
	if _, known, err := decodeVerdict(&linkpb.Verdict{Kind: "DEMAND", Epoch: -1}); known || err != nil {
		t.Errorf("a verdict: known %t, error %v", known, err)
	}
}

func TestAPromiseNeverGetsShorterOnItsWay(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		0:                  0,
		1:                  time.Microsecond,
		time.Microsecond:   time.Microsecond,
		time.Second - 1:    time.Second,
		time.Second + 1:    time.Second + time.Microsecond,
		maxPromise:         maxPromise,
		1234 * time.Second: 1234 * time.Second,
	} {
		frame, err := encodePetition(tenure.Petition{Kind: tenure.Claim, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := decodePetition(frame.GetPetition())
		if err != nil || p.Lease != want {
			t.Errorf("a lease of %v arrives as %v, %v; want %v", lease, p.Lease, err, want)
		}
	}
}

// FuzzAnswer lets any bytes come in as an answer of an admitted process. What is accepted can be sent on as it came.
func FuzzAnswer(f *testing.F) {
	verdict, err := encodeVerdict(someVerdict(), "m", 1)
	if err != nil {
		f.Fatal(err)
	}
	for _, answer := range []*linkpb.Answer{{}, {Sequence: 1, Coordinator: "c"}, verdict} {
		bytes, err := proto.Marshal(answer)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var answer linkpb.Answer
		if proto.Unmarshal(bytes, &answer) != nil {
			return // gRPC ends the stream
		}
		l := newLink(newHub("a", 1, "", beat, nil), Member{Name: "b"}, nil)
		event, err := l.read(&answer)
		if err != nil && event != nil || err == nil && event == nil && knownKind(tenure.Kind(answer.GetVerdict().GetKind())) {
			t.Fatalf("event %#v, error %v", event, err)
		}
		if decided, ok := event.(Decided); ok {
			again, err := encodeVerdict(decided.Verdict, decided.Memory, decided.Incarnation)
			if err != nil {
				t.Fatalf("accepted what cannot be sent: %v", err)
			}
			back, err := l.read(again)
			if err != nil || !reflect.DeepEqual(back, event) {
				t.Fatalf("sent on as %+v, %v; it was %+v", back, err, event)
			}
		}
	})
}
