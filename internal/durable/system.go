package durable

import "io"

// System is what a Store needs of a directory. Directory returns a real one; durabletest.Disk
// injects faults. Names are names within the directory.
type System interface {
	// Create makes a file, or empties the one that has the name. Only its owner may read it.
	Create(name string) (File, error)
	// Open opens a file for reading. The error is fs.ErrNotExist if there is none.
	Open(name string) (io.ReadCloser, error)
	// Overwrite opens a file to overwrite its content. The error is fs.ErrNotExist if there is none.
	Overwrite(name string) (Overwriter, error)
	// Rename gives a file another name, in place of the file that had it.
	Rename(from, to string) error
	// Remove removes a file. The error is fs.ErrNotExist if there is none.
	Remove(name string) error
	// Sync makes the names survive a loss of power: what was created, renamed or removed so far.
	Sync() error
	// Lock holds a lock file until unlock is called or the process ends. The error is a
	// *LockedError if somebody else holds it. The file stays.
	Lock(name string) (unlock func() error, err error)
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	// Sync makes the content survive a loss of power.
	Sync() error
}

// Overwriter is a file that is being overwritten, while its length stays.
type Overwriter interface {
	io.WriterAt
	io.Closer
	// Sync makes the content survive a loss of power.
	Sync() error
}
