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
// ID.
func initialise(args []string) error {
	f := pflag.NewFlagSet("agent init", pflag.ContinueOnError)
	path := f.String("state-dir", "", "state `DIR` of an agent; made if it does not exist")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *path == "" || f.NArg() > 0 {
		return errors.New("usage: agent init --state-dir DIR")
	}
	dir, err := statedir.Open(*path, time.Now())
	if err != nil {
		return err
	}
	fmt.Println(dir.ID)
	return dir.Close()
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
