package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one of a stream of server-sent events.
type event struct {
	name string
	data []byte
}

// readEvents tells fn each event, until the stream ends (io.EOF, if it does so in order) or fn fails. Comments and the
// fields that only matter for reconnecting are left out; an event that the stream breaks off is not told. Ended says that
// it was the stream that ended: nothing is open any more.
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

// add takes one line of the event.
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
