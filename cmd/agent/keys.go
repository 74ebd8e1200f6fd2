package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// keys implements `agent keys`: it writes what agents without a manager need, which is a CA, and a
// certificate and a key for each process of a roster. It keeps the CA's key beside them, so that
// the command can be run again before the certificates expire.
func keys(args []string) error {
	f := pflag.NewFlagSet("agent keys", pflag.ContinueOnError)
	file := f.String(
		"roster",
		"",
		"JSON `FILE` with the roster: the processes of the group and their addresses",
	)
	valid := f.Duration(
		"valid",
		365*24*time.Hour,
		"lifetime of the certificates; agents read them at start only, so restart agents after "+
			"renewing them",
	)
	out := f.String(
		"out",
		"",
		"output `DIR` for ca.crt, ca.key and each process's <name>.crt and <name>.key",
	)
	if err := f.Parse(args); err != nil {
		return err
	}
	if *file == "" || *out == "" || *valid <= 0 || f.NArg() > 0 {
		return errors.New("usage: agent keys --roster FILE --out DIR [--valid DURATION]")
	}
	r, err := roster.ReadFile(*file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o700); err != nil {
		return err
	}
	authority, err := openAuthority(*out)
	if err != nil {
		return err
	}
	for _, p := range r.Processes {
		if err := issue(authority, *out, time.Now().Add(*valid), identity.Name{
			Namespace: r.Namespace,
			Group:     r.Group,
			Pod:       p.Name,
			UID:       p.UID,
		}); err != nil {
			return err
		}
	}
	fmt.Printf(
		"wrote ca.crt and %[2]d certificates to %[1]s, valid for %[3]v\n",
		*out,
		len(r.Processes),
		*valid,
	)
	return nil
}

// openAuthority reads the CA of an earlier run, or creates one.
func openAuthority(dir string) (*identity.Authority, error) {
	certificateFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	if key, err := os.ReadFile(keyFile); err == nil {
		certificate, err := os.ReadFile(certificateFile)
		if err != nil {
			return nil, err
		}
		return identity.ParseAuthority(certificate, key)
	}
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		return nil, err
	}
	certificate, key, err := authority.PEM()
	if err != nil {
		return nil, err
	}
	return authority, errors.Join(
		os.WriteFile(certificateFile, certificate, 0o600),
		os.WriteFile(keyFile, key, 0o600),
	)
}

func issue(authority *identity.Authority, dir string, until time.Time, name identity.Name) error {
	key, err := identity.NewKey()
	if err != nil {
		return err
	}
	request, err := identity.Request(key)
	if err != nil {
		return err
	}
	certificate, err := authority.SignUntil(request, name, time.Now(), until)
	if err != nil {
		return err
	}
	encoded, err := identity.EncodeKey(key)
	if err != nil {
		return err
	}
	base := filepath.Join(dir, name.Pod)
	return errors.Join(
		os.WriteFile(base+".crt", certificate, 0o600),
		os.WriteFile(base+".key", encoded, 0o600),
	)
}
