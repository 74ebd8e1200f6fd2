//go:build !linux

package durable

import "os"

// syncContent makes the content of a file survive.
func syncContent(f *os.File) error { return f.Sync() }
