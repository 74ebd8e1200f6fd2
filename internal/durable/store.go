package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// Store is a few files of one directory, which no other process has open. It is safe for concurrent
// use.
type Store struct {
	system System
	files  []string

	mu     sync.Mutex
	unlock func() error // nil: closed
	slots  map[string]*Slots
}

// Open opens the named files of a directory under a lock file, which stays when the Store is
// closed. None of the files need exist. It removes the temporary files that a crash may have left
// beside them, and touches no other file of the directory. The error is a *LockedError if another
// process has them open.
func Open(system System, lock string, files ...string) (*Store, error) {
	unlock, err := system.Lock(lock)
	if err != nil {
		return nil, err
	}
	s := &Store{
		system: system,
		files:  files,
		unlock: unlock,
		slots:  map[string]*Slots{},
	}
	if err := s.repair(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return s, nil
}

// repair removes what a crash left half done, and makes what it left done survive: a file that was
// renamed before the crash is about to be read and relied on, and a loss of power could still bring
// back the one before it.
func (s *Store) repair() error {
	for _, name := range s.files {
		if err := s.system.Remove(temporary(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.system.Sync()
}

// Close lets another process open the files. Read, Write and Remove fail afterwards; a second Close
// does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	unlock := s.unlock
	s.unlock = nil
	slots := slices.Collect(maps.Values(s.slots))
	s.mu.Unlock()
	if unlock == nil {
		return nil
	}
	for _, f := range slots { // waits for one that is being written, which may wait for s.mu
		f.close()
	}
	return unlock()
}

// ErrTooLarge means that a file is larger than the limit given to Read: its writer never writes
// that much.
var ErrTooLarge = errors.New("the file is too large")

// Read returns the content of a file. The error is ErrTooLarge if that has more than limit bytes,
// and fs.ErrNotExist if there is no such file.
func (s *Store) Read(name string, limit int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(name); err != nil {
		return nil, err
	}
	f, err := s.system.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", name, ErrTooLarge, limit)
	}
	return data, nil
}

// Write replaces a file, and returns nil only when the new content survives whatever happens next.
func (s *Store) Write(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.noSlots(name); err != nil {
		return err
	}
	return s.write(name, data)
}

func (s *Store) write(name string, data []byte) error {
	if err := s.check(name); err != nil {
		return err
	}
	err := s.writeTemporary(name, data)
	if err == nil {
		err = s.system.Rename(temporary(name), name)
	}
	if err != nil {
		_ = s.system.Remove(temporary(name)) // gives its space back; if that fails, Open does it
		return err
	}
	return s.system.Sync()
}

// writeTemporary writes and syncs the temporary file: its content has to survive before its name
// changes, or a loss of power could leave the new name with no content.
func (s *Store) writeTemporary(name string, data []byte) error {
	f, err := s.system.Create(temporary(name))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Remove removes a file, and returns nil only when it stays removed whatever happens next. It is no
// error if there is none.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.check(name), s.noSlots(name)); err != nil {
		return err
	}
	if err := s.system.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.system.Sync() // also if it was gone: an earlier Remove may have failed after this
}

func (s *Store) check(name string) error {
	if s.unlock == nil {
		return fmt.Errorf("%s: %w: another process may have it open by now", name, fs.ErrClosed)
	}
	if !slices.Contains(s.files, name) {
		return fmt.Errorf("%s was not named when the directory was opened", name)
	}
	return nil
}

// noSlots keeps Write and Remove from a file that Slots.Write goes on to overwrite.
func (s *Store) noSlots(name string) error {
	if s.slots[name] != nil {
		return fmt.Errorf("%s has slots: only Slots.Write writes it", name)
	}
	return nil
}

// temporary is the name under which the next content of a file is written. There is one for each
// file, so that a crash leaves at most one behind.
func temporary(name string) string { return name + ".tmp" }
