package said

import (
	"fmt"
	"io"
	"sync"

	"github.com/podesta-dev/podesta/test/register"
)

// Speaker writes the lines of a member, and only those that are news. It is safe for concurrent
// use.
type Speaker struct {
	mu    sync.Mutex
	out   io.Writer
	names string
	leads bool
}

// NewSpeaker returns the speaker of a member that names nobody and does not lead.
func NewSpeaker(out io.Writer) *Speaker { return &Speaker{out: out} }

// Names says whom the member takes for the leader; an empty name is nobody.
func (s *Speaker) Names(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names != name {
		s.names = name
		s.write(Line{
			At:   register.Now(),
			Word: Names,
			Name: name,
		})
	}
}

// Leads says that the member leads, since an instant.
func (s *Speaker) Leads(since register.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leads {
		s.leads = true
		s.write(Line{At: since, Word: Leads})
	}
}

// Ceases says that the member does not lead any more, since an instant that may have passed.
func (s *Speaker) Ceases(since register.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leads {
		s.leads = false
		s.write(Line{At: since, Word: Ceases})
	}
}

// write writes a line in one piece. A reader that has gone takes the member with it soon.
func (s *Speaker) write(l Line) { fmt.Fprintln(s.out, l) }
