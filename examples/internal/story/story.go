// Package story writes down what happens in an example, line by line: what the example says, and
// what its processes print.
package story

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Story is written to from several goroutines.
type Story struct {
	mu  sync.Mutex
	out io.Writer
}

// New returns a story that is written to out.
func New(out io.Writer) *Story { return &Story{out: out} }

// Say writes a line.
func (s *Story) Say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// Lines returns a writer for one process. It passes whole lines on, so that those of several
// processes do not mix.
func (s *Story) Lines() io.Writer { return &lines{story: s} }

type lines struct {
	story *Story
	rest  []byte // the beginning of a line
}

const maxLine = 64 << 10

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > maxLine {
		end = len(l.rest)
	}
	l.story.mu.Lock()
	defer l.story.mu.Unlock()
	_, err := l.story.out.Write(l.rest[:end])
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(text), err
}
