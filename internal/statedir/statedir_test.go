package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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
			StateID:  "state-" + name,
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
	for _, above := range []uint64{second.Incarnation + 5, 1} { // the second is not above it
		if err := second.StartAbove(above); err != nil {
			t.Fatal(err)
		}
		closed(t, second)
		before := second.Incarnation
		second = open(t, dir, now)
		if want := max(above, before) + 1; second.Incarnation != want {
			t.Errorf("the start above %d is %d, want %d", above, second.Incarnation, want)
		}
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
	_, err := statedir.Open(dir, now)
	if err == nil || !strings.Contains(err.Error(), "--state-dir of its own") {
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

// That the app has had a session is kept, and a file that is damaged still says so.
func TestSession(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, now)
	if had, err := d.HadSession(); had || err != nil {
		t.Errorf("in a new directory: %v, %v", had, err)
	}
	for range 2 {
		if err := d.SaveSession(); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, d)
	d = open(t, dir, now)
	for range 2 {
		if had, err := d.HadSession(); !had || err != nil {
			t.Errorf("it was saved: %v, %v", had, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "session"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, now)
	if c, k, trust, err := d.Credentials(); c != nil || k != nil || trust != nil || err != nil {
		t.Errorf("a new directory has %q %q %q, %v", c, k, trust, err)
	}
	asked := statedir.Asked{BootID: "boot", Boot: time.Hour}
	if got, err := d.Asked(); got != (statedir.Asked{}) || err != nil {
		t.Errorf("in a new directory a certificate was asked for: %+v, %v", got, err)
	}
	if err := errors.Join(d.SaveCredentials([]byte("certificate"), []byte("key"), []byte("trust")),
		d.SaveCredentials(nil, nil, []byte("newer trust")), d.SaveAsked(asked)); err != nil {
		t.Fatal(err)
	}
	closed(t, d)
	d = open(t, dir, now)
	c, k, trust, err := d.Credentials()
	got := []string{string(c), string(k), string(trust)}
	if err != nil || !slices.Equal(got, []string{"certificate", "key", "newer trust"}) {
		t.Errorf("saved %q, %v", got, err)
	}
	if got, err := d.Asked(); got != asked || err != nil {
		t.Errorf("asked for at %+v, %v, want %+v", got, err, asked)
	}
	if err := os.WriteFile(filepath.Join(dir, "asked"), []byte("yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Asked(); err == nil {
		t.Errorf("of a damaged file it says %+v", got)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 8 {
		t.Errorf("the directory has %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", f.Name(), info.Mode())
		}
	}
}
