// Package said is what a member says on its standard output: a line for each change of whom it
// takes for the leader, and of whether it leads itself. All systems that are compared speak it, so
// that one program can judge them all.
//
// A line is an instant of CLOCK_BOOTTIME in nanoseconds, a word, and for Names a name:
//
//	51234567890123 names p3
//	51234567890456 names
//	51234567890789 leads
//	51234567899999 ceases
//
// The member stamps the line, so a reader that is late, or starved, reads the right instant all the
// same. The clock is one for all processes of a machine.
package said

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/test/register"
)

// Word is what a line tells.
type Word string

// The words. What Leads says ends with Ceases, or with the member's process.
const (
	Names  Word = "names"  // whom the member takes for the leader; no name: nobody
	Leads  Word = "leads"  // its app may act as the leader
	Ceases Word = "ceases" // its app may not any more
)

// Line is a line.
type Line struct {
	At   register.Instant
	Word Word
	Name string // with Names only
}

var errLine = errors.New("want INSTANT names [NAME], INSTANT leads or INSTANT ceases")

// Parse reads a line.
func Parse(text string) (Line, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return Line{}, fmt.Errorf("%q: %w", text, errLine)
	}
	at, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || at <= 0 {
		return Line{}, fmt.Errorf("%q: %w", text, errLine)
	}
	l := Line{At: register.Instant(at), Word: Word(fields[1]), Name: strings.Join(fields[2:], " ")}
	leads := l.Word == Leads || l.Word == Ceases
	if l.Word == Names && len(fields) <= 3 || leads && len(fields) == 2 {
		return l, nil
	}
	return Line{}, fmt.Errorf("%q: %w", text, errLine)
}

// String is the line as Parse reads it.
func (l Line) String() string {
	return strings.TrimRight(fmt.Sprintf("%d %s %s", int64(l.At), l.Word, l.Name), " ")
}
