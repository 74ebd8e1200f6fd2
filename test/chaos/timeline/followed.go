package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// ReadFollowed reads a line of an agent's log, as slog writes text, that says whom it follows from
// then on:
//
//	time=2026-11-20T14:41:07.361Z level=INFO msg=follows coordinator=g-4 epoch=27960071.1 …
//
// It returns false for any other line. Boot is what the wall clock said when the boot clock began.
func ReadFollowed(line, agent string, boot time.Time) (f Followed, ok bool, err error) {
	if !strings.Contains(line, " msg=follows ") {
		return f, false, nil
	}
	f.Agent = agent
	for field := range strings.FieldsSeq(line) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "time":
			at, err := time.Parse(time.RFC3339Nano, value)
			if err != nil {
				return f, false, err
			}
			f.At = register.Instant(at.Sub(boot))
		case "coordinator":
			f.Process = value
		case "epoch":
			if f.Epoch, err = register.ParseEpoch(value); err != nil {
				return f, false, err
			}
		}
	}
	if f.At == 0 {
		return f, false, fmt.Errorf("no time: %s", line)
	}
	return f, f.Process != "", nil
}
