package durable

import "fmt"

// LockedError means that another process holds a lock.
type LockedError struct {
	Path   string // of the lock file
	Holder string // who holds it, in words
}

func (e *LockedError) Error() string { return fmt.Sprintf("%s is held by %s", e.Path, e.Holder) }
