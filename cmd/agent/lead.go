package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// installLead copies the program lead, which lies beside the agent, into a directory that the app's
// containers share. It replaces the copy of an earlier start, which may be running.
func installLead(directory string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(filepath.Join(filepath.Dir(self), "lead"))
	if err != nil {
		return fmt.Errorf("--install-lead: this image has no lead: %w", err)
	}
	to := filepath.Join(directory, "lead")
	err = os.WriteFile(to+".new", program, 0o755) //nolint:gosec // the app runs it
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		return fmt.Errorf("--install-lead: %w", errors.Join(err, os.Remove(to+".new")))
	}
	return nil
}
