package writer

import (
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/podesta-dev/podesta/test/register"
)

// Kind says what a line of a writer's trace tells.
type Kind string

// The kinds of lines.
const (
	// Started begins a life: the lines up to the next Started are its.
	Started Kind = "started"
	// Told: the agent said that this process may act.
	Told Kind = "told"
	// Stopped: the writer believes so no more, before its deadline if it had one. It is written before
	// anybody is told.
	Stopped Kind = "stopped"
)

// Line is a line of a writer's trace, in JSON. The trace is written with no buffer, so that a
// SIGKILL loses nothing.
type Line struct {
	Kind Kind             `json:"kind"`
	At   register.Instant `json:"at"`

	// Started has these.
	Group   string `json:"group,omitempty"`
	Process string `json:"process,omitempty"`
	UID     string `json:"uid,omitempty"`
	PID     int    `json:"pid,omitempty"`

	// Told has these; its At is the instant after the answer.
	Epoch    int64            `json:"epoch,omitempty"` // Stopped has it, too
	Deadline register.Instant `json:"deadline,omitempty"`

	Why string `json:"why,omitempty"` // only Stopped has it
}

// trace writes lines; it is safe for concurrent use. The first error sticks.
type trace struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

func (t *trace) add(l Line) {
	text, err := json.Marshal(l)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.err == nil {
		_, err = t.out.Write(append(text, '\n'))
	}
	if t.err == nil {
		t.err = err
	}
}

func (t *trace) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// started is a life's first line.
func started(o Options) Line {
	return Line{
		Kind:    Started,
		At:      register.Now(),
		Group:   o.Group,
		Process: o.Process,
		UID:     o.UID,
		PID:     os.Getpid(),
	}
}
