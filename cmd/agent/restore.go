package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/internal/transport"
)

// What an agent takes over from its earlier incarnation, out of its state directory: the roster,
// and what its voter has promised. Its certificate is internal/credentials' business.

// firstRoster returns the roster to start with: the file's; or the one kept in the state directory,
// if the certificate kept with it has been taken, so that an agent can restart and elect without a
// manager; or the first that the manager sends, which it keeps. It returns nil if ctx ends before.
func (s *sidecar) firstRoster(
	ctx context.Context,
	updates <-chan roster.Update,
	client *roster.Client,
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
			s.logger.Warn("the roster in the state directory names an algorithm that this version of "+
				"the agent does not have, waiting for a roster from the manager",
				"algorithm", kept.Algorithm)
		case kept != nil:
			return kept, nil
		}
	}
	s.logger.Info("waiting for a roster", "manager", s.manager)
	client.Report(s.withoutRoster())
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

// rosterFileOf is what other agents compare with their own files.
func rosterFileOf(r *roster.Roster) *transport.RosterFile {
	f := &transport.RosterFile{Generation: r.Generation, Guarded: r.Safety == roster.Guarded}
	for _, d := range r.Digests() {
		f.Fields = append(f.Fields, transport.Field(d))
	}
	return f
}

// withoutRoster is what the manager is told of an agent that has no roster yet. A manager that has
// just begun to lead waits for it: it makes a group's first roster when every agent has said that
// it holds none (MC10 in internal/membership).
func (s *sidecar) withoutRoster() roster.Report {
	return roster.Report{
		StateID:     s.dir.ID,
		Version:     version,
		Rules:       lease.Rules,
		Incarnation: s.dir.Incarnation,
		Electing:    true, // it follows nobody
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
	if s.appSession == sessionRequired {
		s.ledger.Expect()
	}
	if s.roster != "" {
		return s.loadFiles()
	}
	if s.sessionSaved, err = s.dir.HadSession(); err != nil {
		return err
	} else if s.sessionSaved {
		s.ledger.Expect()
	}
	return s.credentials.Load(s.saved.Roster != nil || noRoster != nil)
}

// leaveGroup deletes the kept roster when the pod no longer belongs to its group. Without a roster,
// the certificate is not taken, so the next start joins with the pod's token. What
// the voter has promised stays, because the group may get the pod back.
func (s *sidecar) leaveGroup() error {
	saved, err := s.dir.Load()
	if noRoster := (*statedir.RosterError)(nil); err != nil && !errors.As(err, &noRoster) {
		return err
	}
	return s.dir.Save(saved.Lease, nil)
}

// loadFiles fills the keyring of a static agent from the files that its flags name.
func (s *sidecar) loadFiles() error {
	certificate, key, trust, err := readAll(s.certificate, s.key, s.trustFile)
	if err != nil {
		return err
	}
	if err := s.keyring.SetTrust(trust); err != nil {
		return err
	}
	return s.keyring.SetCertificate(certificate, key)
}

// certified reports whether this process's certificate counts now. One that was made by `agent
// keys` lasts as long as it says.
func (s *sidecar) certified() bool {
	if s.roster != "" {
		return time.Now().Before(s.keyring.NotAfter())
	}
	return s.credentials.Certified()
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
		Pinned:  s.credentials.Pinned(),
		Keep:    s.credentials.Keep,
		Boot:    s.credentials.Boot,
		Logger:  s.logger,
	})
}
