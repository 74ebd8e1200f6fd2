package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An agent that takes part asks to be run soon where others use its CPUs, too.
func TestItAsksForShortTimeSlices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// it gets as far as its state directory, which is below a file
	if err := run([]string{"--roster", file, "--certificate", file, "--key", file, "--trust-file", file,
		"--state-dir", filepath.Join(file, "state")}); err == nil {
		t.Fatal("it took part without a state directory")
	}
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if attr.Runtime == 0 {
		t.Skip("this kernel does not say what slices it grants: it is older than 6.12")
	}
	if got := time.Duration(attr.Runtime); got != 100*time.Microsecond {
		t.Errorf("it has slices of %v", got)
	}
}
