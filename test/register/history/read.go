package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/writer"
)

// maxLine bounds a line of a log, in bytes.
const maxLine = 1 << 20

// ReadEntries reads a register's log.
func ReadEntries(log io.Reader) (entries []register.Entry, err error) {
	err = each(log, func(line string) error {
		var e register.Entry
		err := json.Unmarshal([]byte(line), &e)
		entries = append(entries, e)
		return err
	})
	return entries, err
}

// ReadTrace reads a writer's trace, which may have several lives.
func ReadTrace(trace io.Reader) (lives []Life, err error) {
	err = each(trace, func(text string) error {
		line, err := parse(text)
		if err != nil {
			return err
		}
		switch {
		case line.Kind == writer.Started:
			lives = append(lives, Life{
				Group:   line.Group,
				Process: line.Process,
				UID:     line.UID,
				PID:     line.PID,
				Begin:   line.At,
			})
		case len(lives) == 0:
			return fmt.Errorf("the first line must be %q", writer.Started)
		default:
			life := &lives[len(lives)-1]
			life.Lines = append(life.Lines, line)
		}
		return nil
	})
	return lives, err
}

// parse reads a line of a trace. A writer that is killed within a line has its next life begin in
// the middle of it; what the line was to say nobody has acted upon.
func parse(text string) (line writer.Line, err error) {
	begin := max(strings.LastIndex(text, `{"kind":"`+string(writer.Started)+`"`), 0)
	err = json.Unmarshal([]byte(text[begin:]), &line)
	return line, err
}

// ReadLeases reads an agent's log as slog writes text, for the lines that end with a lease's step:
//
//	… msg=lease … state=holds epoch=7.2 incarnation=1763700000123 boottime=81234567890
//
// The boot time is the instant, in nanoseconds of CLOCK_BOOTTIME, at which the step was decided.
func ReadLeases(log io.Reader, group, process string) (leases []Lease, err error) {
	err = each(log, func(line string) error {
		if !strings.Contains(line, " msg=lease ") {
			return nil
		}
		t := Lease{Group: group, Process: process}
		var at int64
		for field := range strings.FieldsSeq(line) {
			var err error
			switch key, value, _ := strings.Cut(field, "="); key {
			case "state":
				if t.State = State(value); t.State != Holds && t.State != Stops && t.State != Releases {
					return fmt.Errorf("no state of a lease is called %q: %s", value, line)
				}
			case "epoch":
				t.Epoch, err = register.ParseEpoch(value)
			case "incarnation":
				t.Incarnation, err = strconv.ParseUint(value, 10, 64)
			case "boottime":
				at, err = strconv.ParseInt(value, 10, 64)
			}
			if err != nil {
				return err
			}
		}
		if t.At = register.Instant(at); t.At == 0 || t.Epoch == 0 || t.State == "" {
			return fmt.Errorf("a lease has a state, an epoch and a boottime: %s", line)
		}
		leases = append(leases, t)
		return nil
	})
	return leases, err
}

// each reads lines. A last line without its end is left out: its writer was killed meanwhile.
func each(text io.Reader, take func(line string) error) error {
	lines := bufio.NewReaderSize(text, maxLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := take(strings.TrimSuffix(string(line), "\n")); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}
