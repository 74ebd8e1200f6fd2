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

// keys makes what agents without a manager need: a CA, and for each process of a roster a certificate and a key. The CA's key
// is kept beside them, so that the command can be run again before the certificates end.
func keys(args []string) error {
	f := pflag.NewFlagSet("agent keys", pflag.ContinueOnError)
	file := f.String("roster", "", "JSON file that says who is in the group")
	valid := f.Duration("valid", 365*24*time.Hour, "how long the certificates are valid; an agent reads its files at start only")
	out := f.String("out", "", "directory for ca.crt, ca.key, and <process>.crt and <process>.key")
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
		if err := issue(authority, *out, time.Now().Add(*valid), identity.Name{Namespace: r.Namespace, Group: r.Group, Pod: p.Name, UID: p.UID}); err != nil {
			return err
		}
	}
	fmt.Printf("%s: ca.crt and %d certificates, good for %v\n", *out, len(r.Processes), *valid)
	return nil
}

// openAuthority reads the CA of an earlier run, or makes one.
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
	return authority, errors.Join(os.WriteFile(certificateFile, certificate, 0o600), os.WriteFile(keyFile, key, 0o600))
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
	return errors.Join(os.WriteFile(base+".crt", certificate, 0o600), os.WriteFile(base+".key", encoded, 0o600))
}
