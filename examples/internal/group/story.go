package group

import (
	"fmt"
	"io"
	"sync"
)

// Story is what happens in a group, a line each. Several goroutines and programs may write to it.
type Story struct {
	mu  sync.Mutex
	out io.Writer
}

// NewStory returns a story that is written to out.
func NewStory(out io.Writer) *Story { return &Story{out: out} }

// Say writes a line.
func (s *Story) Say(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// Write writes lines of a program, which says each of them at once.
func (s *Story) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(lines)
}
