package transport

import (
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

func someRequest() lease.Request {
	return lease.Request{
		Kind:  lease.Vote,
		Epoch: lease.NewEpoch(27993600, 3),
		Round: 1 << 63,
		Lease: time.Second,
		Heir:  "c",
	}
}

func someResponse() lease.Response {
	return lease.Response{
		Kind:        lease.Vote,
		Epoch:       lease.NewEpoch(27993600, 3),
		Round:       1 << 63,
		Granted:     true,
		Candidate:   true,
		Generation:  27993600,
		Highest:     lease.NewEpoch(27993600, 4),
		Holder:      "c",
		HolderEpoch: lease.NewEpoch(27993600, 2),
		Remaining:   817 * time.Microsecond,
		Heard:       true,
	}
}

func TestARequestAndItsResponseArriveWhole(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 7), f.join("b", 5)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		a.Request("b", someRequest())
		request, ok := next(t, b).(LeaseRequested)
		answer := request.Answer
		request.Answer = nil
		want := LeaseRequested{
			From:        "a",
			Incarnation: 7,
			StateID:     "state-a",
			Request:     someRequest(),
		}
		if !ok || !reflect.DeepEqual(request, want) {
			t.Fatalf("received %#v\nwant     %#v", request, want)
		}
		answer(someResponse())
		expect(t, a, LeaseResponded{
			From:        "b",
			Incarnation: 5,
			StateID:     "state-b",
			Response:    someResponse(),
		})
	})
}

func TestARequestForNobodyIsDroppedAndALateResponseHarmsNobody(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		introduce(f, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		a.Request("unknown", someRequest())
		a.Request("b", lease.Request{Kind: "DEMAND"})
		a.Request("b", lease.Request{Kind: lease.Vote, Epoch: -1})
		if n := a.Dropped(); n != 3 {
			t.Errorf("%d dropped, want 3", n)
		}
		a.Request("b", someRequest())
		late := next(t, b).(LeaseRequested)
		late.Answer(lease.Response{Kind: "DEMAND"}) // no process would accept it, so it is not sent
		late.Answer(someResponse())
		expect(t, a, LeaseResponded{
			From:        "b",
			Incarnation: 1,
			StateID:     "state-b",
			Response:    someResponse(),
		})
		f.kill("a")
		for range 100 {
			late.Answer(someResponse()) // must neither block nor have an effect
		}
	})
}

func TestBoundsOfRequests(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*linkpb.LeaseRequest)
		want   string // a part of the error; empty: it is accepted
	}{
		"as it is":          {func(*linkpb.LeaseRequest) {}, ""},
		"the highest epoch": {func(p *linkpb.LeaseRequest) { p.Epoch = 1<<53 - 1 }, ""},
		"no epoch":          {func(p *linkpb.LeaseRequest) { p.Epoch = 0 }, ""},
		"the longest lease": {
			func(p *linkpb.LeaseRequest) { p.LeaseMicroseconds = 3_600_000_000 },
			"",
		},
		"a higher epoch": {
			func(p *linkpb.LeaseRequest) { p.Epoch = 1 << 53 },
			"epoch 9007199254740992",
		},
		"a lower epoch": {func(p *linkpb.LeaseRequest) { p.Epoch = -1 }, "epoch -1"},
		"a longer lease": {
			func(p *linkpb.LeaseRequest) { p.LeaseMicroseconds = 3_600_000_001 },
			"want 0 to 1h",
		},
		"the longest number": {
			func(p *linkpb.LeaseRequest) { p.LeaseMicroseconds = math.MaxInt64 },
			"want 0 to 1h",
		},
		"less than no lease": {
			func(p *linkpb.LeaseRequest) { p.LeaseMicroseconds = math.MinInt64 },
			"want 0 to 1h",
		},
		"a longer heir": {
			func(p *linkpb.LeaseRequest) { p.Heir = strings.Repeat("x", maxNameBytes+1) },
			"254 bytes",
		},
	} {
		t.Run(what, func(t *testing.T) {
			frame, err := encodeRequest(someRequest())
			if err != nil {
				t.Fatal(err)
			}
			tc.change(frame.GetLeaseRequest())
			_, known, err := decodeRequest(frame.GetLeaseRequest())
			wantError(t, known, err, tc.want)
		})
	}
}

func TestBoundsOfResponses(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*linkpb.LeaseResponse)
		want   string
	}{
		"as it is": {func(*linkpb.LeaseResponse) {}, ""},
		"the highest generation": {
			func(v *linkpb.LeaseResponse) { v.Generation = 1<<33 - 1 },
			"",
		},
		"the longest state ID": {
			func(v *linkpb.LeaseResponse) { v.StateId = strings.Repeat("x", maxStateIDBytes) },
			"",
		},
		"no state ID":   {func(v *linkpb.LeaseResponse) { v.StateId = "" }, ""},
		"a lower epoch": {func(v *linkpb.LeaseResponse) { v.Epoch = -1 }, "epoch -1"},
		"a higher highest": {
			func(v *linkpb.LeaseResponse) { v.Highest = 1 << 53 },
			"epoch 9007199254740992",
		},
		"a higher holder's epoch": {
			func(v *linkpb.LeaseResponse) { v.HolderEpoch = 1 << 53 },
			"epoch 9007199254740992",
		},
		"a higher generation": {
			func(v *linkpb.LeaseResponse) { v.Generation = 1 << 33 },
			"generation 8589934592",
		},
		"a lower generation": {
			func(v *linkpb.LeaseResponse) { v.Generation = -1 },
			"generation -1",
		},
		"less than nothing remains": {
			func(v *linkpb.LeaseResponse) { v.RemainingMicroseconds = -1 },
			"want 0 to 1h",
		},
		"more than a lease remains": {
			func(v *linkpb.LeaseResponse) { v.RemainingMicroseconds = math.MaxInt64 },
			"want 0 to 1h",
		},
		"a longer holder": {
			func(v *linkpb.LeaseResponse) { v.Holder = strings.Repeat("x", maxNameBytes+1) },
			"254 bytes",
		},
		"a longer state ID": {
			func(v *linkpb.LeaseResponse) { v.StateId = strings.Repeat("x", maxStateIDBytes+1) },
			"65 bytes",
		},
		"a state ID of two lines": {
			func(v *linkpb.LeaseResponse) { v.StateId = "a\nb" },
			"printable ASCII",
		},
		"a state ID of other letters": {
			func(v *linkpb.LeaseResponse) { v.StateId = "é" },
			"printable ASCII",
		},
	} {
		t.Run(what, func(t *testing.T) {
			answer, err := encodeResponse(someResponse(), "m", 1)
			if err != nil {
				t.Fatal(err)
			}
			tc.change(answer.GetLeaseResponse())
			_, known, err := decodeResponse(answer.GetLeaseResponse())
			wantError(t, known, err, tc.want)
		})
	}
}

func wantError(t *testing.T, known bool, err error, part string) {
	t.Helper()
	if part == "" && err != nil || part != "" && (err == nil ||
		!strings.Contains(err.Error(), part)) {
		t.Errorf("error %v, want %q", err, part)
	}
	if !known {
		t.Error("its kind is not known")
	}
}

// A request of a future kind may exceed the limits of the known kinds: only an agent that knows the
// kind can judge it.
func TestAKindToComeIsPassedOver(t *testing.T) {
	if _, known, err := decodeRequest(&linkpb.LeaseRequest{
		Kind:  "DEMAND",
		Epoch: -1,
	}); known || err != nil {
		t.Errorf("a request: known %t, error %v", known, err)
	}
	if _, known, err := decodeResponse(&linkpb.LeaseResponse{
		Kind:  "DEMAND",
		Epoch: -1,
	}); known || err != nil {
		t.Errorf("a response: known %t, error %v", known, err)
	}
}

func TestAPromiseNeverGetsShorterOnItsWay(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		0:                  0,
		1:                  time.Microsecond,
		time.Microsecond:   time.Microsecond,
		time.Second - 1:    time.Second,
		time.Second + 1:    time.Second + time.Microsecond,
		maxPromise:         maxPromise,
		1234 * time.Second: 1234 * time.Second,
	} {
		frame, err := encodeRequest(lease.Request{Kind: lease.Vote, Lease: asked})
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := decodeRequest(frame.GetLeaseRequest())
		if err != nil || p.Lease != want {
			t.Errorf("a lease of %v arrives as %v, %v; want %v", asked, p.Lease, err, want)
		}
	}
}

// FuzzReply receives arbitrary bytes as a reply of an admitted process. What is accepted can be
// sent on unchanged.
func FuzzReply(f *testing.F) {
	response, err := encodeResponse(someResponse(), "m", 1)
	if err != nil {
		f.Fatal(err)
	}
	answer := &linkpb.Reply{Reply: &linkpb.Reply_Answer{Answer: &linkpb.Answer{Coordinator: "c"}}}
	start := &linkpb.Start{Incarnation: 2, Certificate: []byte("c"), Signature: []byte("s")}
	rival := &linkpb.Reply{Reply: &linkpb.Reply_Rival{Rival: start}}
	ended := &linkpb.Reply{Reply: &linkpb.Reply_Ended{Ended: &linkpb.Ended{
		Reason:     linkpb.Ended_UNWANTED,
		Later:      start,
		RosterFile: fileOf(1, true, 1, 2).message(),
	}}}
	for _, reply := range []*linkpb.Reply{{}, answer, response, rival, ended} {
		bytes, err := proto.Marshal(reply)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var reply linkpb.Reply
		if proto.Unmarshal(bytes, &reply) != nil {
			return // delimited refuses it
		}
		h := newHub("a", 1, "", beat, slog.New(slog.DiscardHandler))
		l := newLink(h, Member{Name: "b"}, nil)
		if ended := reply.GetEnded(); ended != nil {
			h.refused("b", lossOf(ended))
			later := ended.GetLater().GetIncarnation()
			told := ended.GetReason() != linkpb.Ended_DONE && !ended.GetLaterRuns() &&
				later > 1 && validateStart(ended.GetLater()) == nil
			if told != (len(h.events) == 1) {
				t.Fatalf("%d events because of %v", len(h.events), ended)
			}
		}
		event, err := l.read(&reply)
		if err != nil && event != nil || err == nil && event == nil &&
			knownKind(lease.Kind(reply.GetLeaseResponse().GetKind())) {
			t.Fatalf("event %#v, error %v", event, err)
		}
		if decided, ok := event.(LeaseResponded); ok {
			again, err := encodeResponse(decided.Response, decided.StateID, decided.Incarnation)
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
