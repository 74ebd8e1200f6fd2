package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// initialise implements `agent init`: it makes a state directory, unless it exists, and prints its
// ID. With a roster file it prints the digest of that, too, which is to be the same on all
// machines.
func initialise(args []string) error {
	f := pflag.NewFlagSet("agent init", pflag.ContinueOnError)
	path := f.String("state-dir", "", "state `DIR` of an agent; made if it does not exist")
	file := f.String("roster", "", "JSON `FILE` with the roster, to print its digest, too")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *path == "" || f.NArg() > 0 {
		return errors.New("usage: agent init --state-dir DIR [--roster FILE]")
	}
	digest := ""
	if *file != "" {
		r, err := roster.ReadFile(*file)
		if err != nil {
			return err
		}
		digest = describe(r) + "\n"
	}
	dir, err := statedir.Open(*path, time.Now())
	if err != nil {
		return err
	}
	fmt.Print(dir.ID, "\n", digest)
	return dir.Close()
}

// describe is by what people see that the roster files of two machines are the same.
func describe(r roster.Roster) string {
	return fmt.Sprintf("roster file: generation %d, digest %s", r.Generation, r.FileDigest())
}

// checkStateDir returns an error unless the state directory is the one that the roster in a file
// names for a voter of a Guarded group. With a manager that is not an error: a voter with another
// state directory does not vote, and the manager makes a roster with it.
func checkStateDir(path, id string, r *roster.Roster, self string) error {
	p, ok := r.Find(self)
	if !ok || r.Safety != roster.Guarded || !p.Voter || p.StateID == id {
		return nil
	}
	return fmt.Errorf("the state directory %s has the ID %s, but the roster names %s for the voter "+
		"%s. If that directory exists, use it. If it is lost, what this voter promised is lost, too: "+
		"give the process another uid and the stateID %s in the roster, raise its generation, run "+
		"`agent keys` again, and put the files on every machine", path, id, p.StateID, self, id)
}
