// Package credentials keeps what an agent proves itself with, and by what it knows the manager: its
// certificate with the key, and the CA bundle. They are in the state directory, so that an agent
// can start again and elect without a manager, and on the keyring of its links.
//
// It promises that a certificate is not used longer than a day on the machine's clock, whatever
// becomes of the wall clock. What the keyring trusts, and what a certificate says, is for
// internal/identity; how a certificate is got, for internal/roster.
package credentials

import (
	"log/slog"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// Store is the credentials of an agent that a manager certifies. Load comes first; then it is safe
// for concurrent use.
type Store struct {
	dir     *statedir.Dir
	keyring *identity.Keyring
	expiry  *expiry
	logger  *slog.Logger
	pinned  time.Time
}

// New returns a store without credentials.
func New(dir *statedir.Dir, keyring *identity.Keyring, c Clock, logger *slog.Logger) *Store {
	return &Store{
		dir:     dir,
		keyring: keyring,
		expiry:  newExpiry(c),
		logger:  logger,
	}
}

// Load fills the keyring from the state directory. It takes the bundle always, and the certificate
// only if that still counts and is known to be of the agent's group: if the agent had joined, that
// is, it has a roster, readable or not. Without a certificate the agent joins again by its token.
func (s *Store) Load(joined bool) error {
	certificate, key, trust, err := s.dir.Credentials()
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
	if !joined {
		s.logger.Info("the state directory holds a certificate but no roster: the certificate " +
			"may be of another group, joining again")
		return nil
	}
	asked, err := s.dir.Asked()
	if err != nil {
		s.logger.Warn("cannot read when the certificate in the state directory was asked for, "+
			"joining again", "error", err)
		return nil
	}
	s.expiry.begins(asked)
	if s.expiry.over() {
		s.logger.Info("the certificate in the state directory has expired, or the machine was " +
			"started again since, so that its age is not known: joining again")
		return nil
	}
	// perhaps a crash came between the writing of the two files
	if err := s.keyring.SetCertificate(certificate, key); err != nil {
		s.logger.Warn("cannot use the certificate in the state directory, joining again",
			"error", err)
	}
	return nil
}

// Keep writes what the manager has signed, nil meaning unchanged, and when it was asked for it, by
// Boot. The instant comes last: with a certificate that is newer, it only
// makes that end earlier.
func (s *Store) Keep(certificate, key, trust []byte, asked time.Duration) error {
	if err := s.dir.SaveCredentials(certificate, key, trust); err != nil || certificate == nil {
		return err
	}
	a := statedir.Asked{BootID: s.expiry.clock.BootID, Boot: asked}
	if err := s.dir.SaveAsked(a); err != nil {
		return err
	}
	s.expiry.begins(a)
	return nil
}

// Certified reports whether the agent has a certificate that counts now, by both clocks.
func (s *Store) Certified() bool {
	return time.Now().Before(s.keyring.NotAfter()) && !s.expiry.over()
}

// Boot reads the clock for Keep.
func (s *Store) Boot() time.Duration { return s.expiry.clock.Boot() }

// Pinned is the end of the certificate that Load has found, used or not: until then only the bundle
// that came with it proves a manager.
func (s *Store) Pinned() time.Time { return s.pinned }
