package main

import (
	"cmp"
	"crypto/rand"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// validity knows until when the certificate counts that the manager has signed. The manager takes a
// process whose pod is gone for ended when all its certificates have expired by any clock within
// the bound (MC5 in internal/membership), so the end is a time on CLOCK_BOOTTIME, which nobody can
// set, counted from before the certificate was asked for. After a reboot that clock says nothing
// about the time before: then the certificate has ended. Where the machine does not say which of
// its runs this is, a certificate that an earlier incarnation of the agent asked for has ended,
// too.
type validity struct {
	bootID string
	boot   func() time.Duration
	asked  atomic.Pointer[statedir.Asked]
}

// newValidity takes the ID of the machine's run, empty if it is not known.
func newValidity(bootID string) *validity {
	return &validity{
		bootID: cmp.Or(bootID, "agent "+rand.Text()),
		boot:   func() time.Duration { return agent.ReadClocks().Boot },
	}
}

// begins notes when the certificate in use was asked for.
func (v *validity) begins(a statedir.Asked) { v.asked.Store(&a) }

// holds reports whether it counts.
func (v *validity) holds() bool {
	a := v.asked.Load()
	return a != nil && a.BootID == v.bootID && v.boot() < a.Boot+identity.Lifetime
}

// certified reports whether this process's certificate counts now. One that was made by `agent
// keys` lasts as long as it says.
func (s *sidecar) certified() bool {
	return time.Now().Before(s.keyring.NotAfter()) && (s.roster != "" || s.validity.holds())
}

// keep keeps what the manager has signed. The time comes last: with a certificate that is newer, it
// only makes that end earlier.
func (s *sidecar) keep(certificate, key, trust []byte, asked time.Duration) error {
	if err := s.dir.SaveCredentials(certificate, key, trust); err != nil || certificate == nil {
		return err
	}
	a := statedir.Asked{BootID: s.validity.bootID, Boot: asked}
	if err := s.dir.SaveAsked(a); err != nil {
		return err
	}
	s.validity.begins(a)
	return nil
}
