package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/durable/durabletest"
)

const limit = 1 << 10

func open(t *testing.T, system durable.System) *durable.Store {
	t.Helper()
	s, err := durable.Open(system, "lock", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns what a file holds; a file that is missing holds nothing.
func read(t *testing.T, s *durable.Store, name string) string {
	t.Helper()
	data, err := s.Read(name, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func steps(d *durabletest.Disk) string {
	var lines []string
	for _, s := range d.Steps() {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

// The order is what the package promises: content before its name, name before the answer.
func TestTheStepsOfEachCall(t *testing.T) {
	disk := durabletest.New()
	s := open(t, disk)
	if err := errors.Join(s.Write("a", []byte("new")), s.Remove("a"), s.Remove("a")); err != nil {
		t.Fatal(err)
	}
	const want = `lock lock
remove a.tmp
remove b.tmp
sync
create a.tmp
write a.tmp
sync a.tmp
close a.tmp
rename a.tmp a
sync
remove a
sync
remove a
sync`
	if got := steps(disk); got != want {
		t.Errorf("the steps were\n%s\nwant\n%s", got, want)
	}
}

// calls are what a Store does to a file, each with the content that it leaves when it succeeds.
var calls = []struct {
	name string
	call func(*durable.Store) error
	left string
}{
	{"Write", func(s *durable.Store) error { return s.Write("a", []byte(after)) }, after},
	{"Remove", func(s *durable.Store) error { return s.Remove("a") }, ""},
}

const before, after = "old content", "new content"

// holding returns a disk with an old file.
func holding(content string) *durabletest.Disk {
	disk := durabletest.New()
	disk.Put("a", []byte(content))
	return disk
}

// eachStep runs a call on a disk for each step that Open and the call take, with that step as
// number, and once with a number that is never reached.
func eachStep(t *testing.T, call func(*durable.Store) error, run func(t *testing.T, number int)) {
	t.Helper()
	disk := holding(before)
	if err := call(open(t, disk)); err != nil {
		t.Fatal(err)
	}
	all := disk.Steps()
	for number := range len(all) + 1 {
		name := "no fault"
		if number < len(all) {
			name = fmt.Sprintf("%d %s", number, all[number])
		}
		t.Run(name, func(t *testing.T) { run(t, number) })
	}
}

// attempt opens a disk and makes a call.
func attempt(disk *durabletest.Disk, call func(*durable.Store) error) error {
	s, err := durable.Open(disk, "lock", "a", "b")
	if err != nil {
		return err
	}
	return call(s)
}

// Whenever the process dies or the power goes, the file has its old or its new content, the new one
// if the call has returned nil, and no temporary file stays.
func TestCrashAtEveryStep(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			eachStep(t, c.call, func(t *testing.T, number int) {
				disk := holding(before)
				disk.Fault = durabletest.CrashAt(number)
				err := attempt(disk, c.call)
				for _, found := range append(disk.AfterPowerLoss(), disk.Restarted()) {
					got := read(t, open(t, found), "a")
					if got != c.left && (got != before || err == nil) {
						t.Errorf("the call returned %v, and the file has %q", err, got)
					}
					if _, ok := found.Get("a.tmp"); ok {
						t.Error("the temporary file was left behind")
					}
				}
			})
		})
	}
}

// A step that fails is an error, whichever it is (a temporary file that cannot be removed is one
// only when the files are opened). The file has its old or its new content, no temporary file fills
// the disk, and the next call succeeds.
func TestEveryStepFailsOnce(t *testing.T) {
	for _, c := range calls {
		for _, fault := range []error{durabletest.ErrFull, durabletest.ErrIO} {
			t.Run(c.name+" "+fault.Error(), func(t *testing.T) {
				eachStep(t, c.call, func(t *testing.T, number int) {
					disk := holding(before)
					disk.Fault = durabletest.FailAt(number, fault)
					err := attempt(disk, c.call)
					reached := number < len(disk.Steps())
					if reached != errors.Is(err, fault) {
						t.Fatalf("the step was reached: %t; error: %v", reached, err)
					}
					if got, _ := disk.Get("a"); string(got) != before && string(got) != c.left {
						t.Errorf("the file has %q", got)
					}
					if _, ok := disk.Get("a.tmp"); ok {
						t.Error("the temporary file is still there")
					}
					disk = disk.Restarted()
					if err := attempt(disk, c.call); err != nil {
						t.Fatal(err)
					}
					for _, found := range disk.AfterPowerLoss() {
						if got := read(t, open(t, found), "a"); got != c.left {
							t.Errorf("after a second call the file has %q", got)
						}
					}
				})
			})
		}
	}
}

// A write that fails before anything was renamed leaves no trace: the next one, by the same Store,
// needs nobody to clean up.
func TestAStoreGoesOnAfterAFailure(t *testing.T) {
	disk := holding(before)
	s := open(t, disk)
	for range 3 {
		disk.Fault = func(step durabletest.Step) error {
			if step.Do == "write" {
				return durabletest.ErrFull
			}
			return nil
		}
		if err := s.Write("a", []byte("refused")); !errors.Is(err, durabletest.ErrFull) {
			t.Fatal(err)
		}
		disk.Fault = nil
		if err := s.Write("a", []byte("taken")); err != nil || read(t, s, "a") != "taken" {
			t.Fatal(err)
		}
	}
}

// A process dies between rename and sync. The next one reads the new content and relies on it: no
// loss of power may bring the old content back.
func TestWhatIsReadSurvives(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			eachStep(t, c.call, func(t *testing.T, number int) {
				disk := holding(before)
				disk.Fault = durabletest.CrashAt(number)
				_ = attempt(disk, c.call)
				second := disk.Restarted()
				seen := read(t, open(t, second), "a")
				for _, found := range second.AfterPowerLoss() {
					if got := read(t, open(t, found), "a"); got != seen {
						t.Errorf("%q was read, and after a loss of power %q", seen, got)
					}
				}
			})
		})
	}
}

func TestOnlyOneProcessHasTheFilesOpen(t *testing.T) {
	disk := durabletest.New()
	first := open(t, disk)
	var locked *durable.LockedError
	if _, err := durable.Open(disk, "lock", "a"); !errors.As(err, &locked) {
		t.Fatalf("the second got %v", err)
	}
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	open(t, disk)
	for name, err := range map[string]error{
		"Write":  first.Write("a", nil),
		"Remove": first.Remove("a"),
		"Read":   func() error { _, err := first.Read("a", limit); return err }(),
	} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// Open that fails lets go of the lock.
func TestAFailedOpenUnlocks(t *testing.T) {
	disk := durabletest.New()
	disk.Fault = durabletest.FailAt(1, durabletest.ErrIO)
	if _, err := durable.Open(disk, "lock", "a"); !errors.Is(err, durabletest.ErrIO) {
		t.Fatal(err)
	}
	disk.Fault = nil
	open(t, disk)
}

func TestReadIsBounded(t *testing.T) {
	disk := holding(strings.Repeat("x", limit))
	s := open(t, disk)
	if data, err := s.Read("a", limit); err != nil || len(data) != limit {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := s.Read("a", limit-1); !errors.Is(err, durable.ErrTooLarge) {
		t.Error(err)
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	disk := holding(before)
	disk.Put("other.tmp", []byte("somebody else's"))
	s := open(t, disk)
	if data, _ := disk.Get("other.tmp"); !bytes.Equal(data, []byte("somebody else's")) {
		t.Errorf("it was changed to %q", data)
	}
	if err := s.Write("other", nil); err == nil {
		t.Error("a file that was not named was written")
	}
}
