package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/durable/durabletest"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
)

var now = time.UnixMilli(1_800_000_000_000)

// shop is a roster of three processes.
func shop(generation int64) *roster.Roster {
	r := &roster.Roster{
		Namespace:  "shop",
		Group:      "scheduler",
		GroupUID:   "group-uid",
		Generation: generation,
		Algorithm:  "Bully",
		Safety:     roster.Guarded,
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
		Lease:      time.Second,
		Preemption: roster.Delayed,
		Stable:     5 * time.Second,
	}
	for i, name := range []string{"p1", "p2", "p3"} {
		r.Processes = append(r.Processes, roster.Process{
			Name:     name,
			UID:      "uid-" + name,
			Address:  name + ":4041",
			Priority: int32(i + 1),
			Voter:    true,
		})
	}
	return r
}

// promised is the state of a voter that has promised an epoch of shop.
func promised(ballot int64) lease.State {
	return lease.State{
		Group:      "group-uid",
		Generation: 1,
		Voted:      true,
		Highest:    lease.NewEpoch(1, ballot),
		To: lease.Incarnation{
			Name:    "p2",
			UID:     "uid-p2",
			StateID: "ABC",
			Number:  7,
		},
		Lease: time.Second,
	}
}

func open(t *testing.T, dir string, now time.Time) *statedir.Dir {
	t.Helper()
	d, err := statedir.Open(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a test may have closed it
	return d
}

func closed(t *testing.T, d *statedir.Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func loaded(t *testing.T, d *statedir.Dir) statedir.Saved {
	t.Helper()
	s, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The identity outlives a restart, the incarnation grows even if the clock goes back.
func TestIdentityAndIncarnation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first := open(t, dir, now)
	closed(t, first)
	second := open(t, dir, now.Add(-time.Hour))
	if first.ID == "" || second.ID != first.ID {
		t.Errorf("identity %q, then %q", first.ID, second.ID)
	}
	if first.Incarnation != 1_800_000_000_000 || second.Incarnation != first.Incarnation+1 {
		t.Errorf("incarnation %d, then %d", first.Incarnation, second.Incarnation)
	}
	if other := open(t, t.TempDir(), now); other.ID == first.ID {
		t.Error("two directories have one identity")
	}
	if early := open(t, t.TempDir(), time.Unix(-1, 0)); early.Incarnation != 1 {
		t.Errorf("before 1970 the first incarnation is %d", early.Incarnation)
	}
}

func TestOneAgentADirectory(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, now)
	if _, err := statedir.Open(dir, now); err == nil || !strings.Contains(err.Error(), "--state-dir of its own") {
		t.Errorf("a second agent opens it: %v", err)
	}
	closed(t, first)
	open(t, dir, now)
	if err := first.Save(promised(1), nil); err == nil {
		t.Error("the first saves after it has closed the directory")
	}
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, now)
	if s := loaded(t, d); s != (statedir.Saved{}) {
		t.Errorf("a new directory has %+v", s)
	}
	want := shop(1)
	want.AppHealth = roster.AppHealth{
		Handler:          roster.HTTPGet,
		Port:             8080,
		Path:             "/healthz?full&<>",
		Period:           time.Second,
		Timeout:          2 * time.Second,
		FailureThreshold: 3,
		SuccessThreshold: 4,
	}
	if err := d.Save(promised(1), want); err != nil {
		t.Fatal(err)
	}
	closed(t, d)
	d = open(t, dir, now)
	if s := loaded(t, d); s.Lease != promised(1) || !reflect.DeepEqual(s.Roster, want) {
		t.Errorf("loaded %+v with %+v", s, s.Roster)
	}
	if err := d.Save(promised(1), nil); err != nil {
		t.Fatal(err)
	}
	if s := loaded(t, d); s.Lease != promised(1) || s.Roster != nil {
		t.Errorf("a forgotten roster: %+v", s)
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, now)
	if c, k, trust, err := d.Credentials(); c != nil || k != nil || trust != nil || err != nil {
		t.Errorf("a new directory has %q %q %q, %v", c, k, trust, err)
	}
	if err := errors.Join(d.SaveCredentials([]byte("certificate"), []byte("key"), []byte("trust")),
		d.SaveCredentials(nil, nil, []byte("newer trust"))); err != nil {
		t.Fatal(err)
	}
	closed(t, d)
	d = open(t, dir, now)
	if c, k, trust, err := d.Credentials(); err != nil || string(c) != "certificate" || string(k) != "key" ||
		string(trust) != "newer trust" {
		t.Errorf("saved %q %q %q, %v", c, k, trust, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 7 {
		t.Errorf("the directory has %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", f.Name(), info.Mode())
		}
	}
}

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
		if s.Do == "rename" {
			names = append(names, s.To)
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

// What Load would refuse is not saved, and what was saved stays.
func TestSaveRefusesWhatLoadWould(t *testing.T) {
	disk := durabletest.New()
	d := on(t, disk)
	if err := d.Save(promised(1), shop(1)); err != nil {
		t.Fatal(err)
	}
	negative, garbled, invalid := promised(2), promised(2), shop(2)
	negative.Highest = -1
	garbled.To.Name = "p\xff"
	invalid.Safety = "None"
	for name, err := range map[string]error{
		"a negative epoch":   d.Save(negative, shop(2)),
		"no UTF-8":           d.Save(garbled, shop(2)),
		"an invalid roster":  d.Save(promised(2), invalid),
		"a roster too large": d.Save(promised(2), &roster.Roster{Algorithm: strings.Repeat("x", 1<<20)}),
	} {
		if err == nil {
			t.Errorf("%s was saved", name)
		}
	}
	if s := loaded(t, d); s.Lease != promised(1) || !s.Roster.Equal(*shop(1)) {
		t.Errorf("the directory has %+v", s)
	}
}
