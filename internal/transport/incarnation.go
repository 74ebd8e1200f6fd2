package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// Of two runs of one process, the others hear the one with the higher incarnation. A process with a
// number below one that they have heard would be ignored for ever. So a receiver that refuses its
// stream shows it the later number, and the signature of the process under that number. Without the
// signature, a member could have another one start again and again.

const (
	// maxIncarnation leaves room above it for as many starts as there will ever be.
	maxIncarnation = 1 << 62
	// what an agent needs is less than 1 KiB, and about 70 bytes
	maxCertificate = 4 << 10
	maxSignature   = 256

	// complainEvery is how often the same thing about a process is an ERROR.
	complainEvery = 10 * time.Minute

	startPurpose = "start of a process" // of the signature
)

// acquaintance is what this process remembers of an admitted process.
type acquaintance struct {
	uid        string
	latest     *linkpb.Start // of the incarnations that it has heard; nil: none
	complained time.Time     // when an ERROR named the process last
}

// signer signs the incarnation of this process, and verifies what it has signed itself, in this run
// or another one.
type signer struct{ keyring *identity.Keyring }

func (s signer) sign(incarnation uint64) (*linkpb.Start, error) {
	signature, err := s.keyring.SignOwn(startPurpose, binary.BigEndian.AppendUint64(nil, incarnation))
	return &linkpb.Start{
		Incarnation: incarnation,
		Certificate: signature.Certificate,
		Signature:   signature.Value,
	}, err
}

func (s signer) verify(start *linkpb.Start) error {
	return s.keyring.VerifyOwn(startPurpose,
		binary.BigEndian.AppendUint64(nil, start.GetIncarnation()),
		identity.Signature{Certificate: start.GetCertificate(), Value: start.GetSignature()})
}

// believer is the signer of a network without certificates.
type believer struct{}

func (believer) sign(incarnation uint64) (*linkpb.Start, error) {
	return &linkpb.Start{Incarnation: incarnation}, nil
}

func (believer) verify(*linkpb.Start) error { return nil }

func validateStart(s *linkpb.Start) error {
	switch {
	case s.GetIncarnation() > maxIncarnation:
		return fmt.Errorf("incarnation %d, at most %d is allowed", s.GetIncarnation(), maxIncarnation)
	case len(s.GetCertificate()) > maxCertificate, len(s.GetSignature()) > maxSignature:
		return fmt.Errorf("a start with a certificate of %d bytes and a signature of %d bytes, %d and "+
			"%d are allowed", len(s.GetCertificate()), len(s.GetSignature()), maxCertificate, maxSignature)
	}
	return nil
}

// refused takes what a process said when it ended a stream of this one.
func (h *hub) refused(by string, err error) {
	ended := endedOf(err)
	if later := ended.GetLater(); later.GetIncarnation() > h.incarnation {
		switch {
		case !h.isOwn(by, later):
		case ended.GetLaterRuns():
			h.hasRival(later)
		default:
			h.emit(nil, Outnumbered{By: by, Incarnation: later.GetIncarnation()})
		}
	}
	_ = h.compare(by, ended.GetRosterFile()) // the stream has ended
}

// rival takes the start of another copy of this process, which by has refused to hear.
func (h *hub) rival(by string, s *linkpb.Start) {
	if s.GetIncarnation() != h.incarnation && h.isOwn(by, s) {
		h.hasRival(s)
	}
}

// hasRival says that another run of this process goes on.
func (h *hub) hasRival(s *linkpb.Start) {
	h.mu.Lock()
	due := h.rivalTold.IsZero() || time.Since(h.rivalTold) >= complainEvery
	if due {
		h.rivalTold = time.Now()
	}
	h.mu.Unlock()
	if due {
		h.log.Error("another copy of this process runs with its certificate, and others hear only the "+
			"copy with the higher incarnation: two may coordinate in a Classic group; end one of the two",
			"process", h.self, "incarnation", h.incarnation, "other", s.GetIncarnation())
	}
}

// isOwn reports whether this process has signed a start.
func (h *hub) isOwn(by string, s *linkpb.Start) bool {
	err := validateStart(s)
	if err == nil {
		err = h.signer.verify(s)
	}
	if err != nil {
		h.complain(by, "another process ignores this one because of a later start of it, and cannot "+
			"show that there was one: restart that process", "process", by,
			"incarnation", h.incarnation, "later", s.GetIncarnation(), "error", err)
	}
	return err == nil
}

// complain logs an ERROR about a process that is admitted, if the last one is some time ago.
func (h *hub) complain(about, text string, args ...any) {
	h.mu.Lock()
	a := h.acquainted[about]
	due := a != nil && (a.complained.IsZero() || time.Since(a.complained) >= complainEvery)
	if due {
		a.complained = time.Now()
	}
	h.mu.Unlock()
	if due {
		h.log.Error(text, args...) //nolint:sloglint // each caller's text is a constant
	}
}
