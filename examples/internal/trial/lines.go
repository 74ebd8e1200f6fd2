package trial

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// lines passes whole lines on, so that those of several processes do not mix.
type lines struct {
	out  *shared
	rest []byte // the beginning of a line
}

type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	_, err := l.out.to.Write(l.rest[:end])
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(text), err
}

func (s *shared) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.to, format+"\n", args...)
}
