package durable

import (
	"fmt"
	"sync"
)

// Slots is a file of a Store that is overwritten in place: a write takes one sync, where
// Store.Write takes two. And as the file has its length and its blocks already, the sync need not
// wait until the file system has written its journal, and before that what other programs have
// appended to their files.
//
// For the rest it promises what Store promises, if a loss of power leaves each sector of 512 bytes
// of a write as it was or as it was to become. A file that is not as such a loss can leave it is a
// *DamagedError. It is safe for concurrent use, and does not wait for writes of other files.
type Slots struct {
	store *Store
	name  string

	mu     sync.Mutex // is locked before that of the Store
	file   Overwriter // nil: the next Read or Write replaces the file
	number uint64     // of the last write to file
}

// Slots returns a file that was named when the Store was opened. From then on Store.Write and
// Remove refuse it.
func (s *Store) Slots(name string) *Slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[name] == nil {
		s.slots[name] = &Slots{store: s, name: name}
	}
	return s.slots[name]
}

// Read returns the content of the file. The error is fs.ErrNotExist if there is none.
//
// Before anybody relies on it, it is written anew, unless the last write was by this Slots and
// succeeded: what is found may be a write that was never synced, or whose sync failed.
func (f *Slots) Read() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := f.store.Read(f.name, slotsSize)
	if err != nil {
		return nil, err
	}
	content, err := newest(data)
	if err == nil && f.file == nil {
		err = f.replace(content)
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Write replaces the content, and returns nil only when the new one survives whatever happens next.
// After an error the next Write replaces the file, so that nothing depends on a sync that failed.
func (f *Slots) Write(content []byte) error {
	if len(content) > MaxSlot {
		return fmt.Errorf("%s: %w: %d bytes, and a slot has room for %d", f.name, ErrTooLarge,
			len(content), MaxSlot)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return f.replace(content)
	}
	err := f.overwrite(content)
	if err != nil {
		f.letGo()
	}
	return err
}

func (f *Slots) overwrite(content []byte) error {
	f.number++
	if _, err := f.file.WriteAt(encodeSlot(f.number, content), slotOf(f.number)); err != nil {
		return err
	}
	return f.file.Sync()
}

// replace writes the file whole.
func (f *Slots) replace(content []byte) error {
	file, err := f.store.replace(f.name, newFile(content))
	if err != nil {
		return err
	}
	f.file, f.number = file, 1
	return nil
}

// letGo has the next Write replace the file, which fails if the Store is closed.
func (f *Slots) letGo() {
	if f.file != nil {
		_ = f.file.Close() // what has to survive was synced
		f.file = nil
	}
}

func (f *Slots) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.letGo()
}

// replace writes a file, and opens it to be overwritten.
func (s *Store) replace(name string, data []byte) (Overwriter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(name, data); err != nil {
		return nil, err
	}
	return s.system.Overwrite(name)
}
