package statedir_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable/durabletest"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// on opens a directory of a disk.
func on(t *testing.T, disk *durabletest.Disk) *statedir.Dir {
	t.Helper()
	d, err := statedir.OpenOn(disk, now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// written returns the files that a call writes or removes, in order.
func written(disk *durabletest.Disk, call func()) []string {
	before := len(disk.Steps())
	call()
	names := []string{}
	for _, s := range disk.Steps()[before:] {
		switch {
		case s.Do == "rename":
			names = append(names, s.To)
		case s.Do == "write" && !strings.HasSuffix(s.Name, ".tmp"): // it is overwritten
			names = append(names, s.Name)
		}
		if s.Do == "remove" && !strings.HasSuffix(s.Name, ".tmp") {
			names = append(names, "no "+s.Name)
		}
	}
	return names
}

// Each Save writes what has changed, the roster first; what was loaded has not.
func TestOnlyChangesAreWritten(t *testing.T) {
	disk := durabletest.New()
	d := on(t, disk)
	loaded(t, d)
	for i, c := range []struct {
		lease  lease.State
		roster *roster.Roster
		want   []string
	}{
		{lease.State{}, nil, []string{}},
		{promised(1), shop(1), []string{"roster", "lease"}},
		{promised(1), shop(1), []string{}},
		{promised(2), shop(1), []string{"lease"}},
		{promised(2), shop(2), []string{"roster"}},
		{promised(2), nil, []string{"no roster"}},
		{promised(2), nil, []string{}},
		{promised(3), shop(2), []string{"roster", "lease"}},
	} {
		got := written(disk, func() {
			if err := d.Save(c.lease, c.roster); err != nil {
				t.Fatal(err)
			}
		})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("Save %d wrote %q, want %q", i, got, c.want)
		}
	}
	d = on(t, disk.Restarted())
	loaded(t, d)
	if got := written(disk, func() { _ = d.Save(promised(3), shop(2)) }); len(got) != 0 {
		t.Errorf("what was loaded was written again: %q", got)
	}
}

// After a Save that failed nobody knows what is on the disk: the next one writes it again, even if
// it saves what was there before.
func TestAFailedSaveIsWrittenAgain(t *testing.T) {
	disk := durabletest.New()
	d := on(t, disk)
	if err := d.Save(promised(1), shop(1)); err != nil {
		t.Fatal(err)
	}
	before := len(disk.Steps())
	if err := d.Save(promised(2), shop(2)); err != nil {
		t.Fatal(err)
	}
	last := len(disk.Steps()) - 1
	for number := before; number <= last; number++ {
		disk := durabletest.New()
		d := on(t, disk)
		if err := d.Save(promised(1), shop(1)); err != nil {
			t.Fatal(err)
		}
		disk.Fault = durabletest.FailAt(number, durabletest.ErrIO)
		if err := d.Save(promised(2), shop(2)); !errors.Is(err, durabletest.ErrIO) {
			t.Fatalf("step %d: %v", number, err)
		}
		if err := d.Save(promised(1), shop(1)); err != nil {
			t.Fatal(err)
		}
		for _, found := range disk.AfterPowerLoss() {
			if s := loaded(t, on(t, found)); s.Lease != promised(1) || !s.Roster.Equal(*shop(1)) {
				t.Errorf("step %d failed; after the next Save the disk has %+v", number, s)
			}
		}
	}
}

// Nor does anybody know after a Load that failed: the next Save writes the roster again, or removes
// it.
func TestADamagedRosterIsReplaced(t *testing.T) {
	for _, next := range []*roster.Roster{shop(1), nil} {
		disk := durabletest.New()
		d := on(t, disk)
		if err := d.Save(promised(1), shop(1)); err != nil {
			t.Fatal(err)
		}
		disk.Put("roster", []byte("damaged"))
		if _, err := d.Load(); err == nil {
			t.Fatal("a damaged roster was loaded")
		}
		if err := d.Save(promised(1), next); err != nil {
			t.Fatal(err)
		}
		if s := loaded(t, on(t, disk.Restarted())); (s.Roster == nil) != (next == nil) {
			t.Errorf("saved %+v, and the directory has %+v", next, s.Roster)
		}
	}
}

// A crash never leaves a certificate beside a bundle by which the manager that signed it cannot
// prove itself: the certificate comes last.
func TestTheCertificateIsWrittenLast(t *testing.T) {
	disk := durabletest.New()
	d := on(t, disk)
	got := written(disk, func() {
		if err := d.SaveCredentials([]byte("certificate"), []byte("key"), []byte("trust")); err != nil {
			t.Fatal(err)
		}
	})
	if want := []string{"ca.crt", "tls.key", "tls.crt"}; !slices.Equal(got, want) {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}

// What Load would refuse is not saved, and what was saved stays.
func TestSaveRefusesWhatLoadWould(t *testing.T) {
	disk := durabletest.New()
	d := on(t, disk)
	if err := d.Save(promised(1), shop(1)); err != nil {
		t.Fatal(err)
	}
	negative, garbled, invalid, large := promised(2), promised(2), shop(2), shop(2)
	negative.Highest = -1
	garbled.To.Name = "p\xff"
	invalid.Safety = "None"
	large.Signed = make([]byte, 1<<20)
	for name, err := range map[string]error{
		"a negative epoch":   d.Save(negative, shop(2)),
		"no UTF-8":           d.Save(garbled, shop(2)),
		"an invalid roster":  d.Save(promised(2), invalid),
		"a roster too large": d.Save(promised(2), large),
	} {
		if err == nil {
			t.Errorf("%s was saved", name)
		}
	}
	if s := loaded(t, d); s.Lease != promised(1) || !s.Roster.Equal(*shop(1)) {
		t.Errorf("the directory has %+v", s)
	}
}

// The promises of a voter that knows as many groups as it can are below what a slot has room for.
func TestTheMostPromisesAreSaved(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%02d", i) + strings.Repeat("n", 318) }
	state := promised(1)
	state.Group, state.To.Name = long(99), long(98)
	for i := range lease.MaxGroups {
		state.Earlier = &lease.Earlier{
			Group:      long(i),
			Generation: math.MaxInt64,
			Highest:    math.MaxInt64,
			Next:       state.Earlier,
		}
	}
	disk := durabletest.New()
	d := on(t, disk)
	for range 2 { // the first one replaces the file, if any does
		state.Highest++
		if err := d.Save(state, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := loaded(t, on(t, disk.Restarted())); !s.Lease.Equal(state) {
		t.Errorf("the directory has %+v", s)
	}
}
