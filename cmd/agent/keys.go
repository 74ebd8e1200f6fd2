package main

import (
	"errors"
	"fmt"
	"io/fs"
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
	if _, taken := r.Find(authorityName); taken {
		return fmt.Errorf("the process %q: its certificate and key would be written over the "+
			"authority's; give it another name", authorityName)
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
	fmt.Println(describe(r))
	return nil
}

// authorityName is the name of the CA's two files, as a process's name is of its own.
const authorityName = "ca"

// openAuthority reads the CA of an earlier run. If there was none it creates one; it replaces none,
// because agents that do not trust the same one cannot talk to each other.
func openAuthority(dir string) (*identity.Authority, error) {
	base := filepath.Join(dir, authorityName)
	certificateFile, keyFile := base+".crt", base+".key"
	certificate, err := os.ReadFile(certificateFile)
	key, keyErr := os.ReadFile(keyFile)
	switch {
	case err == nil && keyErr == nil:
		return identity.ParseAuthority(certificate, key)
	case !errors.Is(err, fs.ErrNotExist) || !errors.Is(keyErr, fs.ErrNotExist):
		return nil, fmt.Errorf("the authority of an earlier run: %w; put %s and %s back, or remove "+
			"both for a new one, which all agents must then be given", errors.Join(err, keyErr),
			certificateFile, keyFile)
	}
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		return nil, err
	}
	certificate, key, err = authority.PEM()
	if err != nil {
		return nil, err
	}
	return authority, errors.Join(
		os.WriteFile(keyFile, key, 0o600),
		os.WriteFile(certificateFile, certificate, 0o600),
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
