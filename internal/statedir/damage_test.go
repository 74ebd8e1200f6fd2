package statedir_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/durable/durabletest"
	"github.com/podesta-dev/podesta/internal/durable/record"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// used returns a disk with a state directory that was used.
func used(t *testing.T) *durabletest.Disk {
	t.Helper()
	disk := durabletest.New()
	d := on(t, disk)
	if err := d.Save(promised(1), shop(1)); err != nil {
		t.Fatal(err)
	}
	return disk.Restarted()
}

// holds reports whether the n-th promise and the n-th roster were saved.
func holds(s statedir.Saved, n int64) bool {
	return s.Lease == promised(n) && s.Roster.Equal(*shop(n))
}

// start opens a directory and loads what it holds, as an agent does when it starts.
func start(disk *durabletest.Disk) (statedir.Saved, error) {
	d, err := statedir.OpenOn(disk, now)
	if err != nil {
		return statedir.Saved{}, err
	}
	return d.Load()
}

// anew is how to get rid of a directory that cannot be used.
const anew = "when its pod is deleted, or, outside Kubernetes, " +
	"when the whole state directory is removed"

// remedies are what an error about each file tells its reader to do.
var remedies = map[string]string{
	"id":          anew,
	"incarnation": anew,
	"lease":       anew,
	"roster":      "The next roster that the manager sends takes its place",
}

var formats = map[string]string{
	"id":          "podesta-state-id",
	"incarnation": "podesta-incarnation",
	"lease":       "podesta-lease",
	"roster":      "podesta-roster",
}

// stored is a file that holds a record. That of the promises has slots.
func stored(t *testing.T, name string, data []byte) string {
	t.Helper()
	if name != "lease" {
		return string(data)
	}
	disk := durabletest.New()
	store, err := durable.Open(disk, "lock", name)
	if err == nil {
		err = store.Slots(name).Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, _ := disk.Get(name)
	return string(file)
}

// A file that is not as an agent has written it is an error that names it and says what to do, each
// time, and the file stays as it is.
func TestDamageIsAnError(t *testing.T) {
	for name, remedy := range remedies {
		good, ok := used(t).Get(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		format := formats[name]
		record1 := func(format, body string) string {
			return stored(t, name, record.Format{Name: format, Version: 1}.Encode([]byte(body)))
		}
		half, flipped := len(good)/2, slices.Clone(good)
		flipped[half] ^= 1
		for damage, content := range map[string]string{
			"empty":              "",
			"zeros":              strings.Repeat("\x00", len(good)),
			"torn":               string(good[:half]),
			"a bit":              string(flipped),
			"twice":              string(good) + string(good),
			"another file's":     record1("podesta-other", "7"),
			"an empty body":      record1(format, ""),
			"an empty object":    record1(format, "{}"),
			"an empty list":      record1(format, "[]"),
			"of an older agent":  stored(t, name, []byte("{}")),
			"another layout's":   string(record.Format{Name: format, Version: 1}.Encode(nil)),
			"larger than it can": strings.Repeat("x", 1<<20+1),
		} {
			t.Run(name+" "+damage, func(t *testing.T) {
				disk := used(t)
				disk.Put(name, []byte(content))
				for range 2 {
					s, err := start(disk)
					wantDamage(t, name, remedy, s, err)
					disk = disk.Restarted()
				}
				if left, _ := disk.Get(name); string(left) != content {
					t.Errorf("the file was changed to %q", left)
				}
			})
		}
	}
}

func wantDamage(t *testing.T, name, remedy string, s statedir.Saved, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("it was taken for %+v", s)
	}
	if text := err.Error(); !strings.Contains(text, name) || !strings.Contains(text, remedy) {
		t.Errorf("%q does not say what to do", text)
	}
	var onlyRoster *statedir.RosterError
	if errors.As(err, &onlyRoster) != (name == "roster") {
		t.Errorf("%v is %T", err, err)
	}
	want := lease.State{}
	if name == "roster" {
		want = promised(1)
	}
	if s.Lease != want || s.Roster != nil {
		t.Errorf("with the error came %+v", s)
	}
}

// A file of a newer agent is not damaged, and not read either.
func TestFilesOfANewerAgent(t *testing.T) {
	for name, remedy := range remedies {
		disk := used(t)
		format := formats[name]
		newer := record.Format{Name: format, Version: 2}.Encode([]byte("what is to come"))
		disk.Put(name, []byte(stored(t, name, newer)))
		s, err := start(disk)
		wantDamage(t, name, remedy, s, err)
		text := err.Error()
		if !strings.Contains(text, "newer agent") || strings.Contains(text, "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A directory that was used has its identity, its counter and its promises. One that lacks a file
// has lost it. Only the roster may be missing: then there is none.
func TestALostFileIsDamage(t *testing.T) {
	for _, name := range []string{"id", "incarnation", "lease"} {
		disk := used(t)
		if err := disk.Remove(name); err != nil {
			t.Fatal(err)
		}
		s, err := start(disk)
		wantDamage(t, name, remedies[name], s, err)
	}
}

// A crash while a directory is opened for the first time loses nothing: nobody has relied on it. A
// crash while it is opened again leaves its identity and what it holds, and no number of a start
// comes twice.
func TestACrashWhileItIsOpened(t *testing.T) {
	for _, first := range []bool{true, false} {
		begin := func() *durabletest.Disk {
			if first {
				return durabletest.New()
			}
			return used(t)
		}
		full := begin()
		before := on(t, full)
		for number := range full.Steps() {
			disk := begin()
			disk.Fault = durabletest.CrashAt(number)
			if _, err := statedir.OpenOn(disk, now); !errors.Is(err, durabletest.ErrCrashed) {
				t.Fatalf("step %d: %v", number, err)
			}
			for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
				id, hasID := found.Get("id")
				again := on(t, found)
				s := loaded(t, again)
				if first && s != (statedir.Saved{}) || !first && !holds(s, 1) {
					t.Errorf("crash at step %d: %+v", number, s)
				}
				if again.ID == "" || hasID && !strings.Contains(string(id), again.ID) {
					t.Errorf("crash at step %d: the identity %q became %q", number, id, again.ID)
				}
				if !first && again.Incarnation < before.Incarnation {
					t.Errorf("crash at step %d: incarnation %d", number, again.Incarnation)
				}
			}
		}
	}
}

// A disk that cannot be read is an error, too, and never a file that is missing.
func TestADiskThatCannotBeRead(t *testing.T) {
	for name := range remedies {
		disk := used(t)
		disk.Fault = func(s durabletest.Step) error {
			if s.Do == "open" && s.Name == name {
				return durabletest.ErrIO
			}
			return nil
		}
		if s, err := start(disk); !errors.Is(err, durabletest.ErrIO) || s.Roster != nil {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}
