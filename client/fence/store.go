package fence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// store keeps the content of one file through a crash of the process and a loss of power. It holds
// a lock, so no other process has the file open. It is not safe for concurrent use.
type store struct {
	disk   disk
	name   string
	unlock func() error
}

// disk is the directory of the file. Tests have another one, which crashes and loses power.
type disk interface {
	// lock holds a file until unlock is called or the process ends. The error is ErrLocked if
	// another process holds it.
	lock(name string) (unlock func() error, err error)
	// open opens a file for reading.
	open(name string) (io.ReadCloser, error)
	// create makes a file, or empties the file of that name.
	create(name string) (writer, error)
	rename(from, to string) error
	remove(name string) error
	// sync makes the names survive a loss of power.
	sync() error
}

type writer interface {
	io.WriteCloser
	Sync() error // makes the content survive a loss of power
}

// openStore locks the file, and removes the temporary file of a process that crashed. It syncs the
// directory because that process may have left a rename that a loss of power would still undo,
// after somebody has relied on the file.
func openStore(d disk, name string) (*store, error) {
	unlock, err := d.lock(name + ".lock")
	if err != nil {
		return nil, err
	}
	s := &store{disk: d, name: name, unlock: unlock}
	err = d.remove(s.temporary())
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = d.sync()
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return s, nil
}

func (s *store) temporary() string { return s.name + ".tmp" }

// read returns at most limit bytes of the file.
func (s *store) read(limit int64) ([]byte, error) {
	f, err := s.disk.open(s.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// write replaces the file, and returns nil only when the new content survives whatever happens
// next. After an error or a crash the file has its old or its new content.
func (s *store) write(data []byte) error {
	err := s.writeTemporary(data)
	if err == nil {
		err = s.disk.rename(s.temporary(), s.name)
	}
	if err != nil {
		_ = s.disk.remove(s.temporary()) // gives its space back; if that fails, openStore does it
		return err
	}
	return s.disk.sync()
}

// writeTemporary syncs the temporary file before it gets the name of the file: a loss of power
// could otherwise leave the name with no content.
func (s *store) writeTemporary(data []byte) error {
	f, err := s.disk.create(s.temporary())
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// directory is a disk of the operating system.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

func (d directory) open(name string) (io.ReadCloser, error) { return os.Open(d.path(name)) }

func (d directory) create(name string) (writer, error) {
	return os.OpenFile(d.path(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

func (d directory) rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d directory) remove(name string) error { return os.Remove(d.path(name)) }

func (d directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
