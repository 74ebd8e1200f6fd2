package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// What an agent takes over from its earlier incarnation, out of its state directory: the roster,
// the certificate, and what its voter has promised.

// firstRoster returns the roster to start with: the file's; or the one kept in the state directory,
// if loadCredentials has taken the certificate kept with it, so that an agent can restart and elect
// without a manager; or the first that the manager sends, which it keeps. It returns nil if ctx
// ends before.
func (s *sidecar) firstRoster(
	ctx context.Context,
	updates <-chan roster.Update,
) (*roster.Roster, error) {
	if s.roster != "" {
		r, err := roster.ReadFile(s.roster)
		return &r, err
	}
	if own, ok := s.keyring.Name(); ok {
		kept := s.saved.Roster
		switch {
		case kept != nil && (kept.Namespace != own.Namespace || kept.Group != own.Group):
			s.logger.Info("the roster in the state directory is of another group than the "+
				"certificate, waiting for a roster from the manager", "group", kept.Group)
		case kept != nil && !slices.Contains(election.Algorithms(), kept.Algorithm):
			s.logger.Warn(
				"the roster in the state directory names an algorithm that this version of the "+
					"agent does not have, waiting for a roster from the manager",
				"algorithm",
				kept.Algorithm,
			)
		case kept != nil:
			return kept, nil
		}
	}
	s.logger.Info("waiting for a roster", "manager", s.manager)
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case u := <-updates:
			if u.Roster == nil {
				continue // the group does not exist yet
			}
			if err := s.dir.Save(s.saved.Lease, u.Roster); err != nil {
				return nil, err
			}
			return u.Roster, nil
		}
	}
}

// load reads what an earlier incarnation saved. Without a roster the agent waits for the manager's.
func (s *sidecar) load() error {
	var err error
	s.saved, err = s.dir.Load()
	noRoster := (*statedir.RosterError)(nil)
	if errors.As(err, &noRoster) {
		s.logger.Warn("cannot read the roster in the state directory, waiting for the manager's",
			"error", noRoster)
	} else if err != nil {
		return err
	}
	return s.loadCredentials(s.saved.Roster != nil || noRoster != nil)
}

// leaveGroup deletes the kept roster when the pod no longer belongs to its group. Without a roster,
// loadCredentials does not take the certificate, so the next start joins with the pod's token. What
// the voter has promised stays, because the group may get the pod back.
func (s *sidecar) leaveGroup() error {
	saved, err := s.dir.Load()
	if noRoster := (*statedir.RosterError)(nil); err != nil && !errors.As(err, &noRoster) {
		return err
	}
	return s.dir.Save(saved.Lease, nil)
}

// loadCredentials fills the keyring from the files named by the flags, or from the state directory.
// joined is true if there is a roster, readable or not: only then is the certificate known to be of
// its group.
func (s *sidecar) loadCredentials(joined bool) error {
	certificate, key, trust, err := s.dir.Credentials()
	if s.roster != "" {
		certificate, key, trust, err = readAll(s.certificate, s.key, s.trustFile)
	}
	if err != nil {
		return err
	}
	if trust != nil {
		if err := s.keyring.SetTrust(trust); err != nil {
			return err
		}
	}
	if certificate == nil || key == nil {
		return nil
	}
	s.pinned = identity.EndOf(certificate)
	if s.roster == "" && !joined {
		s.logger.Info(
			"the state directory holds a certificate but no roster: the certificate may be of " +
				"another group, joining again",
		)
		return nil
	}
	if s.roster == "" {
		asked, err := s.dir.Asked()
		if err != nil {
			s.logger.Warn("cannot read when the certificate in the state directory was asked for, "+
				"joining again", "error", err)
			return nil
		}
		s.validity.begins(asked)
		if !s.validity.holds() {
			s.logger.Info("the certificate in the state directory has expired, or the machine was " +
				"started again since, so that its age is not known: joining again")
			return nil
		}
	}
	err = s.keyring.SetCertificate(certificate, key)
	if err != nil && s.roster == "" { // perhaps a crash came between the writing of the two files
		s.logger.Warn(
			"cannot use the certificate in the state directory, joining again",
			"error",
			err,
		)
		return nil
	}
	return err
}

func readAll(
	certificateFile, keyFile, trustFile string,
) (certificate, key, trust []byte, err error) {
	if certificate, err = os.ReadFile(certificateFile); err != nil {
		return nil, nil, nil, err
	}
	if key, err = os.ReadFile(keyFile); err != nil {
		return nil, nil, nil, err
	}
	trust, err = os.ReadFile(trustFile)
	return certificate, key, trust, err
}

func (s *sidecar) client() *roster.Client {
	return roster.NewClient(roster.ClientConfig{
		Address: s.manager,
		Token: func() (string, error) {
			token, err := os.ReadFile(s.tokenFile)
			return strings.TrimSpace(string(token)), err
		},
		Trust:   func() ([]byte, error) { return os.ReadFile(s.trustFile) },
		Keyring: s.keyring,
		Pinned:  s.pinned,
		Keep:    s.keep,
		Boot:    s.validity.boot,
		Logger:  s.logger,
	})
}
