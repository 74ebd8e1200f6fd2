package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

const (
	// unlinkedAfter is how long a link may be missing before an Unlinked says why. A process that
	// left on purpose has leftAfter to come back.
	unlinkedAfter = 5 * time.Second
	leftAfter     = time.Minute
	// The next Unlinked comes after complainEvery, or after otherCauseAfter if the cause has changed.
	otherCauseAfter = time.Minute

	// MaxCause is the most bytes of the cause in an Unlinked.
	MaxCause = 256
)

// Unlinked reports that the link to Name has been missing for some seconds, and why the last
// attempt to make it failed. It comes again, seldom, until an Up. The cause may hold words of the
// peer, so it is printable ASCII, of at most MaxCause bytes.
type Unlinked struct{ Name, Cause string }

func (Unlinked) event() {}

// absence is what a link remembers while it is missing.
type absence struct {
	since time.Time
	left  bool      // the process had left on purpose
	cause string    // of the last Unlinked
	told  time.Time // when that was emitted; zero: there was none
}

// missing emits why the last attempt failed, if that is due.
func (a *absence) missing(l *link, err error) {
	grace := l.hub.grace
	if a.left {
		grace = max(grace, leftAfter)
	}
	if l.ctx.Err() != nil || time.Since(a.since) < grace {
		return
	}
	cause, pause := causeOf(err, l.member.Address), complainEvery
	if cause != a.cause {
		pause = otherCauseAfter
	}
	if !a.told.IsZero() && time.Since(a.told) < pause {
		return
	}
	a.cause, a.told = cause, time.Now()
	l.hub.emit(l.ctx.Done(), Unlinked{Name: l.member.Name, Cause: cause})
}

// causeOf says in a sentence why there is no link to a process at an address. Attempts that fail in
// the same way have the same cause, so it has neither the time of day nor a port of this end.
func causeOf(err error, address string) string {
	l, ok := errors.AsType[*loss](err)
	switch {
	case ok && l.ended != nil:
		return plain("it refuses this process: " + l.ended.GetText())
	case address == "":
		return "the roster has no address of it"
	case ok && l.evidence == Unreachable && l.connected:
		return plain(address + " takes the connection, and then nothing is heard of it in time: it " +
			"hangs, or the path drops large packets (MTU)")
	}
	if why := whyCertificate(err); why != "" {
		return plain(why)
	}
	return plain(whyAddress(err, address))
}

// whyCertificate returns why one of the two ends does not take the other's certificate; empty: that
// is not the cause.
func whyCertificate(err error) string {
	bad, ok := errors.AsType[x509.CertificateInvalidError](err)
	if ok && bad.Reason == x509.Expired {
		if time.Now().Before(bad.Cert.NotBefore) {
			return "its certificate counts from " + bad.Cert.NotBefore.UTC().Format(time.RFC3339) +
				" on, and by this machine's clock it is earlier"
		}
		return "its certificate ended at " + bad.Cert.NotAfter.UTC().Format(time.RFC3339) +
			", by this machine's clock"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is not of a CA that this process trusts"
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		return fmt.Sprintf("it refuses this process in the handshake (%v): the two have different CAs, "+
			"rosters or clocks", alert.Err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "what answers at its address speaks no TLS"
	}
	return ""
}

// whyAddress returns what keeps this process from an address.
func whyAddress(err error, address string) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the host of %s is not known: %s", address, name.Err)
	}
	switch evidence := evidenceOf(err); {
	case evidence == Refused:
		return "nobody listens at " + address
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return "there is no route to " + address
	case evidence == Unreachable:
		return "no answer from " + address
	case evidence == Closed:
		return address + " closes the connection"
	}
	if l, ok := errors.AsType[*loss](err); ok {
		err = l.cause
	}
	return err.Error()
}

// plain returns a text as printable ASCII, of at most MaxCause bytes.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text[:min(len(text), MaxCause)])
}
