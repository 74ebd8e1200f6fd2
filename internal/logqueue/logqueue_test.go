package logqueue

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/test/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logging returns the Writer of a log, and what is in it of each line.
func logging(to io.Writer) (*Writer, *slog.Logger) {
	w := New(to)
	logger := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	slog.SetDefault(logger)
	return w, logger
}

// notice is the line that speaks of so many lines.
func notice(dropped int) string {
	return fmt.Sprintf("msg=\"lines of this log are missing: nobody read it, or it could not be "+
		"written\" droppedSinceStart=%d\n", dropped)
}

// unread is a log that says when it is written, and is read when the test says so.
type unread struct {
	bytes.Buffer
	begun, read chan struct{}
}

func newUnread() *unread {
	return &unread{begun: make(chan struct{}, 1), read: make(chan struct{})}
}

func (u *unread) Write(b []byte) (int, error) {
	select {
	case u.begun <- struct{}{}:
	default:
	}
	<-u.read
	return u.Buffer.Write(b)
}

// While nobody reads, whoever logs goes on. What fits is kept in order, the rest is counted, and
// once somebody reads, the log says how much is missing.
func TestNobodyReads(t *testing.T) {
	to := newUnread()
	w, logger := logging(to)
	long, want := strings.Repeat("x", limit/4), ""
	for i := range 20 {
		logger.Info("line", "number", i, "long", long)
		if i == 0 {
			<-to.begun
		}
		if i <= 3 { // one is being written, and three fit
			want += fmt.Sprintf("msg=line number=%d long=%s\n", i, long)
		}
	}
	if n := w.Dropped(); n != 16 {
		t.Errorf("%d lines were dropped, want 16", n)
	}
	close(to.read)
	w.Flush()
	if got := to.String(); got != want+notice(16) {
		t.Errorf("the log is %q", strings.ReplaceAll(got, long, "…"))
	}
}

// failing is a log that cannot be written now and then.
type failing struct {
	bytes.Buffer
	err error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(b)
}

// What cannot be written is counted, and later lines are tried: a pipe may get another reader, and
// a disk free space.
func TestWritesThatFail(t *testing.T) {
	to := &failing{err: syscall.EPIPE}
	w, logger := logging(to)
	for i := range 3 {
		logger.Info("lost", "number", i)
		w.Flush()
	}
	to.err = nil
	for i := range 2 {
		logger.Info("line", "number", i)
		w.Flush()
	}
	want := "msg=line number=0\n" + notice(3) + "msg=line number=1\n"
	if got := to.String(); got != want || w.Dropped() != 3 {
		t.Errorf("%d were dropped, and the log is %q, want 3 and %q", w.Dropped(), got, want)
	}
}

// The end of a process does not wait for a log that nobody reads.
func TestFlushIsBounded(t *testing.T) {
	bubble.Test(t, func(*testing.T) {
		to := newUnread()
		w := New(to)
		fmt.Fprintln(w, "the last line")
		w.Flush()
		close(to.read)
		w.Flush()
	})
}

// A line is the caller's again once Write has returned.
func TestLinesAreCopied(t *testing.T) {
	to := newUnread()
	w := New(to)
	line := []byte("first\n")
	w.Write(line)
	copy(line, "other")
	close(to.read)
	w.Flush()
	if got := to.String(); got != "first\n" {
		t.Errorf("the log is %q", got)
	}
}
