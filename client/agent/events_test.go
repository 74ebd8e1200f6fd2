package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestReadEvents(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   string
		err    error
	}{
		"one":                  {"event: permission\ndata: {}\n\n", "[permission={}]", io.EOF},
		"without spaces, CRLF": {"event:a\r\ndata:1\r\n\r\n", "[a=1]", io.EOF},
		"data of two lines":    {"event: a\ndata: 1\ndata: 2\n\n", "[a=1\n2]", io.EOF},
		"a comment in between": {
			": hi\n\nevent: a\n: still here\ndata: 1\n\n",
			"[a=1]",
			io.EOF,
		},
		"fields for reconnecting": {"id: 4\nretry: 10\nevent: a\ndata: 1\n\n", "[a=1]", io.EOF},
		"a name without data":     {"event: a\n\ndata: 1\n\n", "[=1]", io.EOF},
		"empty data":              {"event: a\ndata:\n\n", "[a=]", io.EOF},
		"broken off":              {"event: a\ndata: 1\n\nevent: b\ndata: 2\n", "[a=1]", io.EOF},
		"one line without end": {
			"event: a\ndata: 1\n\n" + strings.Repeat("x", 2*maxAnswer),
			"[a=1]",
			bufio.ErrTooLong,
		},
		"one event without end": {
			strings.Repeat("data: "+strings.Repeat("x", maxAnswer/2)+"\n", 4),
			"[]",
			bufio.ErrTooLong,
		},
		"data that repeats itself": {"data: 1\n\ndata: 2\n\n", "[=1 =2]", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			got := []string{}
			ended, err := readEvents(strings.NewReader(c.stream), func(e event) error {
				got = append(got, fmt.Sprintf("%s=%s", e.name, e.data))
				return nil
			})
			if fmt.Sprint(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, %v; want %q, %v", fmt.Sprint(got), err, c.want, c.err)
			}
			if ended != errors.Is(c.err, io.EOF) {
				t.Errorf("it was the stream that ended: %v", ended)
			}
		})
	}
}

// FuzzReadEvents checks that every stream ends, in bounded memory, and that an event stays as it
// was delivered.
func FuzzReadEvents(f *testing.F) {
	f.Add("event: permission\ndata: {}\n\n: x\n\ndata:\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		var kept []event
		var copies []string
		if _, err := readEvents(strings.NewReader(stream), func(e event) error {
			if len(e.data) > 2*maxAnswer {
				t.Fatalf("an event of %d bytes", len(e.data))
			}
			kept, copies = append(kept, e), append(copies, string(e.data))
			return nil
		}); err == nil {
			t.Fatal("a stream ended without an error")
		}
		for i, e := range kept {
			if string(e.data) != copies[i] {
				t.Fatalf("event %d was overwritten", i)
			}
		}
	})
}
