package agent

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// StateDir is the state directory: what outlives a restart of the agent's container (an emptyDir
// lives as long as the pod). Everything is synced to the disk before it is relied on. One agent
// uses a directory at a time: of two each would forget what the other has promised.
type StateDir struct {
	dir    string
	unlock func() error
	// ID is the identity of the directory: an agent that lost its memory has another one.
	ID string
	// Incarnation of this start: larger than that of any earlier start with this memory, and, as it
	// begins with the clock in milliseconds, than that of an earlier pod as long as clocks do not
	// lag by a pod's life.
	Incarnation uint64
}

// The files of a StateDir.
const (
	idFile          = "id"
	incarnationFile = "incarnation"
	rosterFile      = "roster.json"
	leaseFile       = "lease.json"
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	trustFile       = "ca.crt"
	lockFile        = "lock"
)

var errInUse = errors.New("another agent uses it: give each agent a --state-dir of its own")

// OpenStateDir opens a state directory, which it makes if it is missing, and counts a new
// incarnation. It is an error if another agent has it open.
func OpenStateDir(dir string, now time.Time) (*StateDir, error) {
	m := &StateDir{dir: dir}
	if err := m.open(now); err != nil {
		return nil, errors.Join(fmt.Errorf("state directory %s: %w", dir, err), m.Close())
	}
	return m, nil
}

func (m *StateDir) open(now time.Time) error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	var err error
	if m.unlock, err = lock(m.path(lockFile)); err != nil {
		return err
	}
	id, err := os.ReadFile(m.path(idFile))
	if errors.Is(err, fs.ErrNotExist) {
		id = []byte(rand.Text())
		err = m.write(idFile, id)
	}
	if err != nil {
		return err
	}
	m.ID = string(id)
	last, err := m.lastIncarnation()
	if err != nil {
		return err
	}
	m.Incarnation = max(last+1, uint64(now.UnixMilli()))
	return m.write(incarnationFile, []byte(strconv.FormatUint(m.Incarnation, 10)))
}

// Close lets another agent open the directory.
func (m *StateDir) Close() error {
	if m.unlock == nil {
		return nil
	}
	return m.unlock()
}

func (m *StateDir) lastIncarnation() (uint64, error) {
	data, err := os.ReadFile(m.path(incarnationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w; remove the state directory to begin anew", m.path(incarnationFile), err)
	}
	return n, nil
}

// KeepRoster keeps the roster in use; nil forgets it.
func (m *StateDir) KeepRoster(r *roster.Roster) error {
	if r == nil {
		err := os.Remove(m.path(rosterFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return m.write(rosterFile, data)
}

// Roster returns the roster that was kept, or nil.
func (m *StateDir) Roster() (*roster.Roster, error) {
	data, err := os.ReadFile(m.path(rosterFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r roster.Roster
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", m.path(rosterFile), err)
	}
	return &r, r.Validate()
}

// KeepLease keeps what a voter must not forget.
func (m *StateDir) KeepLease(s lease.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return m.write(leaseFile, data)
}

// Lease returns what KeepLease kept; the zero State if nothing was. A file that cannot be read is
// an error: a voter that forgot its promises would make them again.
func (m *StateDir) Lease() (s lease.State, err error) {
	data, err := os.ReadFile(m.path(leaseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w; remove the whole state directory to begin anew as another voter", m.path(leaseFile), err)
	}
	return s, nil
}

// KeepCredentials keeps a certificate with its key, and the CA bundle. What is empty stays as it
// was.
func (m *StateDir) KeepCredentials(certificate, key, trust []byte) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{keyFile, key}, {certificateFile, certificate}, {trustFile, trust}} {
		if len(f.data) == 0 {
			continue
		}
		if err := m.write(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// Credentials returns what was kept; each is nil if there is none.
func (m *StateDir) Credentials() (certificate, key, trust []byte, err error) {
	for _, f := range []struct {
		name string
		data *[]byte
	}{{certificateFile, &certificate}, {keyFile, &key}, {trustFile, &trust}} {
		*f.data, err = os.ReadFile(m.path(f.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, nil, err
		}
	}
	return certificate, key, trust, nil
}

func (m *StateDir) path(name string) string { return filepath.Join(m.dir, name) }

// write replaces a file whole, and returns once it is on the disk.
func (m *StateDir) write(name string, data []byte) error {
	f, err := os.CreateTemp(m.dir, name+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), m.path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return m.syncDirectory()
}

func (m *StateDir) syncDirectory() error {
	d, err := os.Open(m.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
