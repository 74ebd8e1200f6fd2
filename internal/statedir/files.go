package statedir

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/durable/record"
)

// errLost is why a directory without one of its files is an error.
var errLost = &record.Damaged{
	Reason: "it is missing, and every state directory that was used has one",
}

// RosterError means that the roster cannot be read and the rest of the directory can. The process
// may go on as one that has no roster: the voter still refuses everything below the generation that
// it has used.
type RosterError struct{ err error }

func (e *RosterError) Error() string {
	return fmt.Sprintf("%v. The next roster that the manager sends takes its place", e.err)
}

func (e *RosterError) Unwrap() error { return e.err }

// read reads and decodes a file. The error is fs.ErrNotExist if there is none.
func read[T any](d *Dir, name string, decode func([]byte) (T, error)) (T, error) {
	var zero T
	data, err := d.content(name)
	damaged := (*durable.DamagedError)(nil)
	if errors.Is(err, durable.ErrTooLarge) || errors.As(err, &damaged) {
		return zero, d.failure(name, err)
	}
	if err != nil {
		return zero, err
	}
	v, err := decode(data)
	if err != nil {
		return zero, d.failure(name, err)
	}
	return v, nil
}

// load is read for a file that Save writes: it notes what is on the disk.
func load[T any](d *Dir, name string, decode func([]byte) (T, error)) (T, error) {
	delete(d.onDisk, name)
	return read(d, name, func(data []byte) (T, error) {
		v, err := decode(data)
		if err == nil {
			d.onDisk[name] = data
		}
		return v, err
	})
}

// replace writes a file, or removes it if data is nil, unless that is what the disk has.
func (d *Dir) replace(name string, data []byte) error {
	if last, known := d.onDisk[name]; known && bytes.Equal(last, data) {
		return nil
	}
	delete(d.onDisk, name) // until the write has succeeded, nobody knows what is there
	if data == nil {
		if err := d.store.Remove(name); err != nil {
			return d.saveError(name, err)
		}
	} else if err := d.write(name, data); err != nil {
		return err
	}
	d.onDisk[name] = data
	return nil
}

func (d *Dir) content(name string) ([]byte, error) {
	if name == leaseFile {
		return d.promises.Read()
	}
	return d.store.Read(name, maxFile)
}

func (d *Dir) write(name string, data []byte) error {
	var err error
	if name == leaseFile {
		err = d.promises.Write(data)
	} else {
		err = d.store.Write(name, data)
	}
	if err != nil {
		return d.saveError(name, err)
	}
	return nil
}

func (d *Dir) saveError(name string, err error) error {
	return fmt.Errorf("save %s: %w", d.file(name), err)
}

// failure says what to do about a file that cannot be used.
func (d *Dir) failure(name string, err error) error {
	const anew = "the agent starts as another voter when its pod is deleted, or, " +
		"outside Kubernetes, when the whole state directory is removed and the process has " +
		"another uid in the roster file"
	what, remedy := "is damaged", "It cannot be repaired; "+anew
	if newer := (*record.Newer)(nil); errors.As(err, &newer) {
		what = "was written by a newer agent"
		remedy = "Run that version of the agent again; if you cannot, " + anew
	}
	if name == rosterFile { // RosterError says what to do
		return fmt.Errorf("%s %s: %w", d.file(name), what, err)
	}
	return fmt.Errorf("%s %s: %w. %s", d.file(name), what, err, remedy)
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }
