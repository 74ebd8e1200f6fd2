package transport

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

func TestWhatCannotBeReceivedCannotBeSent(t *testing.T) {
	good := func() election.Message { return say(1) }
	tooLong := strings.Repeat("x", maxNameBytes+1)
	for what, tc := range map[string]struct {
		change func(*election.Message)
		want   string // a part of the error; empty: it can be sent
	}{
		"as it is": {func(*election.Message) {}, ""},
		"the longest list": {
			func(m *election.Message) { m.List = make([]string, maxEntries) },
			"",
		},
		"the longest name": {func(m *election.Message) { m.Process = tooLong[1:] }, ""},
		"the most hops":    {func(m *election.Message) { m.Hops = maxHops }, ""},
		"a longer list": {
			func(m *election.Message) { m.List = make([]string, maxEntries+1) },
			"101 entries",
		},
		"a longer table": {
			func(m *election.Message) { m.Table = make([]election.Entry, maxEntries+1) },
			"101 entries",
		},
		"a longer process": {func(m *election.Message) { m.Process = tooLong }, "254 bytes"},
		"a longer initiator": {
			func(m *election.Message) { m.Election.Initiator = tooLong },
			"254 bytes",
		},
		"a longer kind": {
			func(m *election.Message) { m.Kind = election.Kind(tooLong) },
			"254 bytes",
		},
		"a longer id": {
			func(m *election.Message) { m.List = []string{"a", tooLong} },
			"254 bytes",
		},
		"a longer row": {
			func(m *election.Message) { m.Table = []election.Entry{{Name: tooLong}} },
			"254 bytes",
		},
		"a longer status": {
			func(m *election.Message) {
				m.Table = []election.Entry{{Status: election.Status(tooLong)}}
			},
			"254 bytes",
		},
		"more hops":            {func(m *election.Message) { m.Hops = maxHops + 1 }, "4097 hops"},
		"fewer hops than none": {func(m *election.Message) { m.Hops = -1 }, "-1 hops"},
		"no kind": {func(m *election.Message) { m.Kind = "" }, "without algorithm " +
			"or kind"},
	} {
		t.Run(what, func(t *testing.T) {
			m := good()
			tc.change(&m)
			_, err := encode("Bully", 0, m)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil ||
				!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("encode: %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheLargestMessageFitsIntoAFrame(t *testing.T) {
	name := strings.Repeat("x", maxNameBytes)
	m := election.Message{
		Kind:    election.Kind(name),
		Process: name,
		Hops:    maxHops,
	}
	m.Election = election.ID{
		Initiator:   name,
		Incarnation: ^uint64(0),
		Sequence:    ^uint64(0),
	}
	for range maxEntries {
		m.List = append(m.List, name)
		m.Table = append(m.Table, election.Entry{Name: name, Status: election.Status(name)})
	}
	frame, err := encode(name, 1, m)
	if err != nil {
		t.Fatal(err)
	}
	if size := proto.Size(frame); size > maxFrame {
		t.Errorf("%d bytes, %d are allowed", size, maxFrame)
	}
}

// hears takes the parts of a Hello: what is accepted is within the limits.
func hears(t *testing.T, hello *linkpb.Hello) {
	h := newHub("a", 1, "", beat, nil)
	h.file = fileOf(1, true, 1, 1)
	start, file := hello.GetStart(), hello.GetRosterFile()
	if validateHello(hello) == nil && (start.GetIncarnation() > maxIncarnation ||
		proto.Size(start) > maxCertificate+maxSignature+64 || len(file.GetFields()) > maxFields) {
		t.Fatalf("accepted %v", hello)
	}
	if same := file.GetVersion() != rosterFileVersion || file.GetGeneration() != 1 ||
		slices.Equal(file.GetFields()[:min(2, len(file.GetFields()))], []uint64{1, 1}); same !=
		(h.compare("b", file) == nil) {
		t.Fatalf("%v is as our own file: %t", file, same)
	}
}

// FuzzFrame receives arbitrary bytes as a frame of an admitted process. A message that is accepted
// is within the limits, and can be sent on unchanged.
func FuzzFrame(f *testing.F) {
	request, err := encodeRequest(someRequest())
	if err != nil {
		f.Fatal(err)
	}
	for _, frame := range []*linkpb.Frame{
		{},
		greeting(1, "m", false),
		helloFrame(&linkpb.Start{Incarnation: 2, Certificate: []byte("c"), Signature: []byte("s")}, "",
			true, fileOf(1, true, 1, 2)),
		askFrame(2, 0),
		leavingFrame(),
		mustEncode(f, 3),
		request,
	} {
		bytes, err := proto.Marshal(frame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var frame linkpb.Frame
		if proto.Unmarshal(bytes, &frame) != nil {
			return // delimited refuses it
		}
		h := newHub("a", 1, "", beat, nil)
		s := &served{
			hub:    h,
			from:   "b",
			stream: &connection{},
			ended:  make(chan struct{}),
		}
		hears(t, frame.GetHello())
		over, err := s.take(&frame)
		_, isRequest := frame.GetFrame().(*linkpb.Frame_LeaseRequest)
		if frame.GetFrame() == nil || isRequest &&
			!knownKind(lease.Kind(frame.GetLeaseRequest().GetKind())) {
			// from a newer agent, perhaps: ignored
			if over || err != nil || len(h.events) > 0 {
				t.Fatalf("an unknown frame: over %t, error %v, %d events", over, err, len(h.events))
			}
			return
		}
		if over != (len(h.events) == 0) || err != nil && !over {
			t.Fatalf("over %t, error %v, %d events", over, err, len(h.events))
		}
		if over {
			return
		}
		switch received := (<-h.events).(type) {
		case LeaseRequested:
			again, err := encodeRequest(received.Request)
			if err != nil {
				t.Fatalf("received what cannot be sent: %v", err)
			}
			back, _, err := decodeRequest(again.GetLeaseRequest())
			if err != nil || back != received.Request {
				t.Fatalf("sent on as %+v, %v; it was %+v", back, err, received.Request)
			}
		case Received:
			again, err := encode(received.Algorithm, received.Sequence, received.Message)
			if err != nil {
				t.Fatalf("received what cannot be sent: %v", err)
			}
			back, err := decode(again.GetMessage())
			if err != nil || !reflect.DeepEqual(back, received.Message) {
				t.Fatalf("sent on as %+v, %v; it was %+v", back, err, received.Message)
			}
		}
	})
}
