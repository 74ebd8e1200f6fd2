package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one event of a stream of server-sent events.
type event struct {
	name string
	data []byte
}

// readEvents calls fn with each event until the stream ends (io.EOF if it ends in order) or fn
// returns an error. It skips comments and the fields for reconnecting, and drops an event that is
// incomplete when the stream ends. ended is true if the stream ended, so that the session is no
// longer open.
func readEvents(r io.Reader, fn func(event) error) (ended bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var e event
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			if e.data != nil {
				if err := fn(e); err != nil {
					return false, err
				}
			}
			e = event{}
			continue
		}
		if err := e.add(lines.Bytes()); err != nil {
			return false, err
		}
	}
	if err := lines.Err(); err != nil {
		return !errors.Is(err, bufio.ErrTooLong), err
	}
	return true, io.EOF
}

// add parses one line of the event.
func (e *event) add(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if len(e.data)+len(value) > maxAnswer {
			return bufio.ErrTooLong
		}
		if e.data == nil {
			e.data = []byte{} // no data and empty data differ
		} else {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
	return nil
}
