package device

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Checker watches what the device takes, and finds two uses at once: an act in one turn when a
// later turn has begun, or two processes in the same one. It does not know what the device refuses,
// or why.
type Checker struct {
	mu    sync.Mutex
	last  Act
	uses  int
	given []Turn   // the first turn of each number that has been used, in the order of use
	wrong []string // the first of them
}

const maxWrong = 10

// Saw takes note of an act that the device has taken.
func (c *Checker) Saw(a Act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch order := a.Turn.Compare(c.last.Turn); {
	case order < 0:
		c.blame("%s acts in turn %v, when %s has begun turn %v", a.By, a.Turn, c.last.By, c.last.Turn)
		return
	case order == 0 && a.By != c.last.By:
		c.blame("%s and %s act in turn %v", c.last.By, a.By, a.Turn)
		return
	case order == 0:
		return
	}
	c.uses++
	if a.Turn.Epoch != c.last.Turn.Epoch || a.Turn.Number != c.last.Turn.Number {
		c.given = append(c.given, a.Turn)
	}
	c.last = a
}

func (c *Checker) blame(format string, args ...any) {
	if len(c.wrong) < maxWrong {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

// Given returns the first turn of each number that was used, in the order of use: for a token ring,
// the tokens.
func (c *Checker) Given() []Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.given)
}

// Verdict returns an error if there were two uses at once.
func (c *Checker) Verdict() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("two at once used the device:\n  %s", strings.Join(c.wrong, "\n  "))
}

// String returns what was seen in a sentence.
func (c *Checker) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) > 0 {
		return fmt.Sprintf("%d uses, and two at once", c.uses)
	}
	return fmt.Sprintf("%d uses, never two at once", c.uses)
}
