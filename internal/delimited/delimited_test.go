package delimited

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const limit = 64 << 10

// text is a message with one field.
func text(s string) *wrapperspb.StringValue { return wrapperspb.String(s) }

// wire returns what goes over a connection for these messages.
func wire(t testing.TB, all ...proto.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, m := range all {
		if err := New(&b, limit).Send(m); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func announce(length uint32) []byte { return binary.BigEndian.AppendUint32(nil, length) }

func TestWhatIsSentIsReceived(t *testing.T) {
	var conn bytes.Buffer
	s := New(&conn, limit)
	all := []string{"", "a", strings.Repeat("b", small-8), strings.Repeat("c", small),
		strings.Repeat("d", limit-4), "e"}
	for _, content := range all {
		if err := s.Send(text(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range all {
		got := text("left from before")
		if err := s.Receive(got); err != nil || got.GetValue() != content {
			t.Errorf("received %.20q, %v; want %.20q", got.GetValue(), err, content)
		}
	}
	if err := s.Receive(text("")); !errors.Is(err, io.EOF) {
		t.Errorf("after the last one: %v, want io.EOF", err)
	}
}

func TestAMessageIsAwaited(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	s := New(near, limit)
	go func() {
		_, _ = far.Write(wire(t, text("a"), text("b")))
		far.Close()
	}()
	for _, want := range []string{"a", "b"} {
		for range 2 { // the second time it has come
			if err := s.Await(); err != nil {
				t.Fatal(err)
			}
		}
		if got := text(""); s.Receive(got) != nil || got.GetValue() != want {
			t.Errorf("received %q, want %q", got.GetValue(), want)
		}
	}
	for range 2 {
		if err := s.Await(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last one: %v, want io.EOF", err)
		}
	}
}

// A message may be in another one, and so on. Each of them takes stack.
func TestHowDeepMessagesMayBe(t *testing.T) {
	for depth, want := range map[int]error{10: nil, 100: ErrInvalid, limit / 10: ErrInvalid} {
		value := structpb.NewNullValue()
		for range depth {
			value = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{value}})
		}
		conn := bytes.NewBuffer(wire(t, value))
		if err := New(conn, limit).Receive(new(structpb.Value)); !errors.Is(err, want) {
			t.Errorf("%d lists in lists: %v, want %v", depth, err, want)
		}
	}
}

// The wire format: other languages have to speak it, too.
func TestWire(t *testing.T) {
	if got, want := wire(t, text("ab")), "\x00\x00\x00\x04\x0a\x02ab"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatIsNotReceived(t *testing.T) {
	whole := wire(t, text("abc"))
	for name, c := range map[string]struct {
		conn []byte
		want error
	}{
		"nothing":                        {nil, io.EOF},
		"a part of a length":             {whole[:3], io.ErrUnexpectedEOF},
		"a length alone":                 {whole[:4], io.ErrUnexpectedEOF},
		"a part of a message":            {whole[:len(whole)-1], io.ErrUnexpectedEOF},
		"one byte more than the limit":   {append(announce(limit+1), make([]byte, limit+1)...), ErrInvalid},
		"the longest that can be said":   {announce(1<<32 - 1), ErrInvalid},
		"no message of protobuf":         {append(announce(1), 0xff), ErrInvalid},
		"a string that is not in UTF-8":  {append(announce(3), 0x0a, 1, 0xff), ErrInvalid},
		"a part of what is long enough":  {append(announce(limit), make([]byte, 3*small)...), io.ErrUnexpectedEOF},
		"a message that promises itself": {append(announce(2), 0x0a, 200), ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if err := New(bytes.NewBuffer(c.conn), limit).Receive(text("")); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A stranger announces the longest message and sends little of it: that little is what is kept.
func TestMemoryIsTakenForWhatHasArrived(t *testing.T) {
	const announced, sent = 64 << 20, 10 << 10
	conn := bytes.NewBuffer(append(announce(announced), make([]byte, sent)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := New(conn, announced).Receive(text(""))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*sent {
		t.Errorf("it took %d bytes for %d that arrived", took, sent)
	}
}

// writes counts the calls of Write.
type writes struct {
	bytes.Buffer
	n int
}

func (w *writes) Write(b []byte) (int, error) {
	w.n++
	return w.Buffer.Write(b)
}

// On TLS each Write is a record and a system call.
func TestManyMaySendAndEachMessageIsOneWrite(t *testing.T) {
	const senders, each = 8, 50
	conn := &writes{}
	s := New(conn, limit)
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for j := range each {
				if err := s.Send(text(fmt.Sprintf("%d/%d", i, j))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if conn.n != senders*each {
		t.Errorf("%d writes for %d messages", conn.n, senders*each)
	}
	last := map[int]int{}
	for range senders * each {
		var m wrapperspb.StringValue
		var i, j int
		if err := s.Receive(&m); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(m.GetValue(), "%d/%d", &i, &j); err != nil || last[i] != j {
			t.Fatalf("%q after %d of that sender (%v)", m.GetValue(), last[i], err)
		}
		last[i]++
	}
}

func TestABrokenConnection(t *testing.T) {
	near, far := io.Pipe()
	far.CloseWithError(io.ErrNoProgress)
	s := New(struct {
		io.Reader
		io.Writer
	}{near, far}, limit)
	if err := s.Receive(text("")); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Receive: %v", err)
	}
	if err := s.Send(text("a")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Send: %v", err)
	}
}

// Whatever a peer sends, it is received as a message that reads the same again, or refused.
func FuzzReceive(f *testing.F) {
	f.Add(wire(f, text("a"), text("b")))
	f.Add(announce(limit))
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := New(bytes.NewBuffer(sent), limit)
		for {
			m := text("")
			err := s.Receive(m)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
				errors.Is(err, ErrInvalid) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again := text("")
			if err := New(bytes.NewBuffer(wire(t, m)), limit).Receive(again); err != nil ||
				!proto.Equal(m, again) {
				t.Fatalf("%v is %v the second time (%v)", m, again, err)
			}
		}
	})
}

func BenchmarkSendAndReceive(b *testing.B) {
	var conn bytes.Buffer
	s, m := New(&conn, limit), text("a message of an election is about as long as this one")
	b.ReportAllocs()
	for b.Loop() {
		if s.Send(m) != nil || s.Receive(m) != nil {
			b.Fatal("it is lost")
		}
	}
}
