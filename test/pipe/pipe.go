// Package pipe makes pipes that nobody reads, for tests of what a program logs to.
package pipe

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Full returns a pipe that takes nothing until somebody reads the zeros in it.
func Full(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write = open(t)
	fd := int(write.Fd())
	err := syscall.SetNonblock(fd, true)
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 1))
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(fd, false); err != nil { // as the program's stderr is
		t.Fatal(err)
	}
	return read, write
}

// Ended returns a pipe whose reader has ended.
func Ended(t *testing.T) (write *os.File) {
	t.Helper()
	read, write := open(t)
	_ = read.Close()
	return write
}

func open(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = read.Close()
		_ = write.Close()
	})
	return read, write
}
