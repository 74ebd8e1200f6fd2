// Package durabletest has a disk for tests and simulators of what must survive: it refuses steps,
// crashes between any two of them, and loses power.
//
//	disk := durabletest.New()
//	disk.Fault = durabletest.CrashAt(3)  // or FailAt, or a function of your own
//	…                                    // use it as a durable.System, until it fails
//	disk.Restarted()                     // the process died: the system kept what it had
//	disk.AfterPowerLoss()                // all that a real disk may have after a loss of power
//
// It loses what a file system may lose and nothing else: of a file that was not synced any part of
// its content; of one that was overwritten any sectors of what is new, and nothing of the rest; of
// the names any that changed since the directory was synced last.
package durabletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/durable"
)

// The faults that FailAt is usually given, and the one that ends everything.
var (
	ErrFull    = errors.New("no space left on device")
	ErrIO      = errors.New("input/output error")
	ErrCrashed = errors.New("the process has crashed")
)

// Step is one thing that was asked of a disk.
type Step struct {
	Number int // from 0
	// Do is lock, create, open, overwrite (opens a file), write, sync, close, rename or remove. The
	// sync of the directory has no Name.
	Do   string
	Name string
	To   string // rename
}

func (s Step) String() string {
	return strings.TrimSpace(s.Do + " " + s.Name + " " + s.To)
}

// Disk is a directory in memory. The zero Disk is not usable: New returns an empty one. It is not
// safe for concurrent use.
type Disk struct {
	// Fault, if not nil, is asked before each step. Its error is what the step returns, without
	// having had any effect, but for a write, of which one half is done: where a file is
	// overwritten, in whole sectors. After ErrCrashed every later step returns ErrCrashed, too.
	Fault func(Step) error

	steps   []Step
	crashed bool
	locks   map[string]bool
	names   map[string]*content // as a running system sees them
	synced  map[string]*content // as they survive
	pending []change            // that lie between the two
}

// content is what a file holds, whatever its name.
type content struct {
	data   []byte
	synced bool
	// Of a file that is being overwritten. Of several writes of one sector only the last one is kept.
	before []byte // what is on the disk for sure
	failed []int  // sectors that a sync failed to write; the system takes them for written
}

// change is what happened to the names in one step: gone was removed, name is now of.
type change struct {
	gone, name string
	of         *content
}

func (c change) apply(names map[string]*content) {
	if c.gone != "" {
		delete(names, c.gone)
	}
	if c.name != "" {
		names[c.name] = c.of
	}
}

// New returns an empty disk.
func New() *Disk {
	return &Disk{
		locks:  map[string]bool{},
		names:  map[string]*content{},
		synced: map[string]*content{},
	}
}

// Put puts a file onto the disk, where it survives.
func (d *Disk) Put(name string, data []byte) {
	c := &content{data: slices.Clone(data), synced: true}
	d.names[name], d.synced[name] = c, c
}

// Get returns the content of a file as a running system sees it, and whether there is one.
func (d *Disk) Get(name string) ([]byte, bool) {
	c, ok := d.names[name]
	if !ok {
		return nil, false
	}
	return slices.Clone(c.data), true
}

// Names returns the names of all files as a running system sees them, in order.
func (d *Disk) Names() []string { return slices.Sorted(maps.Keys(d.names)) }

// Steps returns what has been asked of the disk.
func (d *Disk) Steps() []Step { return slices.Clone(d.steps) }

// CrashAt is a Fault: the process crashes instead of taking a step.
func CrashAt(number int) func(Step) error { return FailAt(number, ErrCrashed) }

// FailAt is a Fault: one step fails.
func FailAt(number int, err error) func(Step) error {
	return func(s Step) error {
		if s.Number == number {
			return err
		}
		return nil
	}
}

// step counts a step, and fails it if that is due.
func (d *Disk) step(do, name, to string) error {
	s := Step{
		Number: len(d.steps),
		Do:     do,
		Name:   name,
		To:     to,
	}
	if d.crashed {
		return fmt.Errorf("%s: %w", s, ErrCrashed)
	}
	d.steps = append(d.steps, s)
	if d.Fault == nil {
		return nil
	}
	err := d.Fault(s)
	if err == nil {
		return nil
	}
	d.crashed = errors.Is(err, ErrCrashed)
	return fmt.Errorf("%s: %w", s, err)
}

func (d *Disk) change(c change) {
	c.apply(d.names)
	d.pending = append(d.pending, c)
}

// Create implements durable.System.
func (d *Disk) Create(name string) (durable.File, error) {
	if err := d.step("create", name, ""); err != nil {
		return nil, err
	}
	c := &content{}
	d.change(change{name: name, of: c})
	return &file{
		disk:    d,
		name:    name,
		content: c,
	}, nil
}

// Open implements durable.System.
func (d *Disk) Open(name string) (io.ReadCloser, error) {
	if err := d.step("open", name, ""); err != nil {
		return nil, err
	}
	c, ok := d.names[name]
	if !ok {
		return nil, missing("open", name)
	}
	return io.NopCloser(bytes.NewReader(c.data)), nil
}

// Overwrite implements durable.System.
func (d *Disk) Overwrite(name string) (durable.Overwriter, error) {
	if err := d.step("overwrite", name, ""); err != nil {
		return nil, err
	}
	c, ok := d.names[name]
	if !ok {
		return nil, missing("open", name)
	}
	return &file{
		disk:    d,
		name:    name,
		content: c,
	}, nil
}

// Rename implements durable.System.
func (d *Disk) Rename(from, to string) error {
	if err := d.step("rename", from, to); err != nil {
		return err
	}
	c, ok := d.names[from]
	if !ok {
		return missing("rename", from)
	}
	d.change(change{
		gone: from,
		name: to,
		of:   c,
	})
	return nil
}

// Remove implements durable.System.
func (d *Disk) Remove(name string) error {
	if err := d.step("remove", name, ""); err != nil {
		return err
	}
	if d.names[name] == nil {
		return missing("remove", name)
	}
	d.change(change{gone: name})
	return nil
}

// Sync implements durable.System.
func (d *Disk) Sync() error {
	if err := d.step("sync", "", ""); err != nil {
		return err
	}
	d.synced, d.pending = maps.Clone(d.names), nil
	return nil
}

// Lock implements durable.System.
func (d *Disk) Lock(name string) (unlock func() error, err error) {
	if err := d.step("lock", name, ""); err != nil {
		return nil, err
	}
	if d.locks[name] {
		return nil, &durable.LockedError{Path: name, Holder: "another process"}
	}
	d.locks[name] = true
	return func() error { delete(d.locks, name); return nil }, nil
}

func missing(op, name string) error {
	return &fs.PathError{
		Op:   op,
		Path: name,
		Err:  fs.ErrNotExist,
	}
}

// file is a file that is being written.
type file struct {
	disk    *Disk
	name    string
	content *content
}

func (f *file) Write(data []byte) (int, error) {
	err := f.disk.step("write", f.name, "")
	if err != nil {
		data = data[:len(data)/2]
	}
	f.content.data, f.content.synced = append(f.content.data, data...), false
	return len(data), err
}

// WriteAt overwrites what the file has, and does not make it longer.
func (f *file) WriteAt(data []byte, at int64) (int, error) {
	err := f.disk.step("write", f.name, "")
	if err != nil {
		data = data[:len(data)/2/sectorSize*sectorSize]
	}
	c := f.content
	if c.synced {
		c.before, c.synced = slices.Clone(c.data), false
	}
	if n := copy(c.data[at:], data); n < len(data) {
		return n, fmt.Errorf("%s has %d bytes only: %w", f.name, len(c.data), io.ErrShortWrite)
	}
	c.failed = slices.DeleteFunc(c.failed, func(failed int) bool {
		return failed >= int(at) && failed < int(at)+len(data)
	})
	return len(data), err
}

func (f *file) Sync() error {
	c := f.content
	if err := f.disk.step("sync", f.name, ""); err != nil {
		if c.before != nil {
			c.failed = c.changed()
		}
		return err
	}
	if len(c.failed) == 0 {
		c.synced, c.before = true, nil
		return nil
	}
	written := slices.Clone(c.data)
	for _, at := range c.failed {
		copy(sector(written, at), sector(c.before, at))
	}
	c.before = written
	return nil
}

func (f *file) Close() error { return f.disk.step("close", f.name, "") }
