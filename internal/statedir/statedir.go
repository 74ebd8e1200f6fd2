// Package statedir is the state directory of an agent: what must outlive a restart of its
// container. It holds the directory's identity, a counter of starts, what the voter has promised,
// the roster in use, and the agent's credentials. In a pod it is an emptyDir, which lives as long
// as the pod.
//
//	dir, err := statedir.Open("/var/lib/podesta", time.Now())
//	saved, err := dir.Load()               // what the last Save saved
//	err = dir.Save(state, roster)          // nil: it survives whatever happens next
//
// One agent uses a directory at a time: of two, each would forget what the other has promised.
// Each file is a record with a version and a checksum, but for the credentials, which are PEM. The
// one with the promises is overwritten in place (durable.Slots), because elections wait for it. A
// file that is damaged, that a newer agent wrote, or that is missing where it cannot be missing is
// an error that says what to do; it never counts as an empty state, because a voter that forgot its
// promises would make them again.
//
// What is not promised: a directory that is copied, or set back to an earlier state, is a valid one
// to this package. The identity says which directory it is, not how old its content is.
package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The files of a state directory.
const (
	idFile          = "id"
	incarnationFile = "incarnation"
	leaseFile       = "lease"
	rosterFile      = "roster"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	trustFile       = "ca.crt"
	askedFile       = "asked"
	sessionFile     = "session"
	lockFile        = "lock"
)

// maxFile bounds what is read of one file: a roster of 100 processes with the longest names, and a
// CA bundle as large as the API server takes it, are below it.
const maxFile = 1 << 20

// Dir is an open state directory. It is safe for concurrent use.
type Dir struct {
	// ID is the identity of the directory: an agent that lost its state directory has another one.
	ID string
	// Incarnation numbers this start of the agent. It is larger than that of any earlier start with
	// this directory. As it begins with the clock in milliseconds, it is larger than that of an
	// earlier pod, too, as long as clocks do not lag by a pod's life.
	Incarnation uint64

	path     string
	store    *durable.Store
	promises *durable.Slots // the lease file: an election waits until it is written

	mu     sync.Mutex
	onDisk map[string][]byte // the content of a file that is known to survive; nil: no such file
}

// Saved is what Save saves.
type Saved struct {
	Lease  lease.State    // what the voter must not forget
	Roster *roster.Roster // the roster in use; nil: none
}

// Open opens a state directory, makes it if it is missing, and begins a new incarnation. It is an
// error if another agent has the directory open.
func Open(dir string, now time.Time) (*Dir, error) {
	if err := durable.MakeDirectory(dir); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	return open(dir, durable.Directory(dir), now)
}

// OpenOn is Open on any system, for tests and simulators: see durabletest.
func OpenOn(system durable.System, now time.Time) (*Dir, error) { return open("", system, now) }

func open(path string, system durable.System, now time.Time) (*Dir, error) {
	store, err := durable.Open(system, lockFile, idFile, incarnationFile, leaseFile, rosterFile,
		certificateFile, keyFile, trustFile, askedFile, sessionFile)
	if locked := (*durable.LockedError)(nil); errors.As(err, &locked) {
		err = fmt.Errorf("another agent uses the state directory: %w. "+
			"Give each agent a --state-dir of its own", locked)
	}
	if err != nil {
		return nil, err
	}
	d := &Dir{
		path:     path,
		store:    store,
		promises: store.Slots(leaseFile),
		onDisk:   map[string][]byte{},
	}
	if err := d.start(now); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

// start reads the identity and begins an incarnation. In a new directory the identity is written
// last: a directory that has one has the other files, too, and one that is missing was lost.
func (d *Dir) start(now time.Time) error {
	id, err := read(d, idFile, decodeID)
	begun := !errors.Is(err, fs.ErrNotExist)
	if begun && err != nil {
		return err
	}
	if !begun {
		id = newID()
	}
	if err := d.checkLease(begun); err != nil {
		return err
	}
	last, err := read(d, incarnationFile, decodeIncarnation)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && begun {
		return d.failure(incarnationFile, errLost)
	}
	if err != nil && !missing {
		return err
	}
	clock := uint64(max(0, now.UnixMilli()))
	d.ID, d.Incarnation = id, max(last+1, clock)
	if err := d.write(incarnationFile, encodeIncarnation(d.Incarnation)); err != nil {
		return err
	}
	if begun {
		return nil
	}
	return d.write(idFile, encodeID(d.ID))
}

// StartAbove has the next start of the agent begin an incarnation above that one, which another
// process has heard of this one. It returns when that survives whatever happens next.
func (d *Dir) StartAbove(incarnation uint64) error {
	return d.write(incarnationFile, encodeIncarnation(max(d.Incarnation, incarnation)))
}

// checkLease sees to it that a directory with an identity has a lease file, and that one without
// has not promised anything: otherwise a file was lost.
func (d *Dir) checkLease(begun bool) error {
	state, err := read(d, leaseFile, decodeLease)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && begun:
		return d.failure(leaseFile, errLost)
	case missing:
		empty, err := encodeLease(lease.State{})
		if err != nil {
			return err
		}
		return d.write(leaseFile, empty)
	case err == nil && !begun && state != lease.State{}:
		return d.failure(idFile, errLost)
	}
	return err
}

// Load returns what the last Save saved, in this incarnation or an earlier one; at first that is
// the zero Saved. If only the roster cannot be read, the error is a *RosterError, and the lease
// state is valid. After any other error nothing of it is.
func (d *Dir) Load() (Saved, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var s Saved
	var err error
	if s.Lease, err = load(d, leaseFile, decodeLease); err != nil {
		return Saved{}, err
	}
	r, err := load(d, rosterFile, decodeRoster)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.onDisk[rosterFile] = nil
	case err != nil:
		return s, &RosterError{err}
	default:
		s.Roster = &r
	}
	return s, nil
}

// Save saves what a process must not forget; a nil roster forgets the one that was saved. It
// writes only what has changed since the last Save or Load that succeeded. When it returns nil,
// all of it survives whatever happens next. When it returns an error, nothing may be relied on:
// each of the two may be saved or not, and the next Save writes both again.
//
// The roster comes first. The lease state names the newest generation that the voter has used, and
// the manager counts on a voter that has acknowledged a generation to have its roster: after a
// crash between the two writes, the directory has a roster that the voter has not acknowledged
// yet, which is harmless, and never a generation without its roster.
func (d *Dir) Save(l lease.State, r *roster.Roster) error {
	leaseRecord, err := encodeLease(l)
	if err != nil {
		return d.saveError(leaseFile, err)
	}
	rosterRecord, err := encodeRoster(r)
	if err != nil {
		return d.saveError(rosterFile, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.replace(rosterFile, rosterRecord); err != nil {
		return err
	}
	return d.replace(leaseFile, leaseRecord)
}

// Asked is when a certificate was asked for, by a clock that nobody can set: it lasts from then on.
type Asked struct {
	BootID string        // of the machine's start; the clock begins anew with each
	Boot   time.Duration // CLOCK_BOOTTIME
}

// SaveAsked saves when the certificate was asked for that SaveCredentials has saved. After a crash
// in between, the directory has a certificate with an earlier time, which makes it end earlier.
func (d *Dir) SaveAsked(a Asked) error {
	data, err := encodeAsked(a)
	if err != nil {
		return d.saveError(askedFile, err)
	}
	return d.write(askedFile, data)
}

// Asked returns what SaveAsked saved; the zero Asked if there is nothing. After an error nobody
// knows when the certificate ends, and another one has to be asked for.
func (d *Dir) Asked() (Asked, error) {
	a, err := read(d, askedFile, decodeAsked)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return a, err
}

// SaveSession saves that the app has opened a session.
func (d *Dir) SaveSession() error {
	return d.write(sessionFile, sessionFormat.Encode([]byte("opened")))
}

// HadSession reports whether SaveSession was called, whatever has become of the file's content.
func (d *Dir) HadSession() (bool, error) {
	_, err := d.store.Read(sessionFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// SaveCredentials saves a certificate with its key, and the CA bundle. What is empty stays as it
// was. The bundle comes first: after a crash the directory never has a certificate beside a bundle
// by which the manager that signed it cannot prove itself.
func (d *Dir) SaveCredentials(certificate, key, trust []byte) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{trustFile, trust}, {keyFile, key}, {certificateFile, certificate}} {
		if len(f.data) == 0 {
			continue
		}
		if err := d.write(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// Credentials returns what SaveCredentials saved; each is nil if nothing was. A crash may have left
// the key of one certificate beside another.
func (d *Dir) Credentials() (certificate, key, trust []byte, err error) {
	for _, f := range []struct {
		name string
		data *[]byte
	}{{certificateFile, &certificate}, {keyFile, &key}, {trustFile, &trust}} {
		*f.data, err = d.store.Read(f.name, maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil, err
		}
	}
	return certificate, key, trust, nil
}

// Close lets another agent open the directory. Nothing can be saved afterwards.
func (d *Dir) Close() error { return d.store.Close() }
