package fence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/client/agent"
)

// opened is a gate on a file, closed at the test's end.
func opened(t testing.TB, path string) *Gate {
	t.Helper()
	g, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// onDisk is the epoch in a file, which may be open.
func onDisk(path string) (agent.Epoch, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return decode(data)
}

func TestARestartedResourceDoesNotForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	g := opened(t, path)
	if err := g.Admit(29353417113602); err != nil {
		t.Fatal(err)
	}
	g.Close()
	g = opened(t, path)
	if err := g.Admit(29353417113601); !errors.Is(err, ErrStale) {
		t.Errorf("after the restart the stale one got %v", err)
	}
	if err := g.Admit(29353417113602); err != nil {
		t.Errorf("after the restart the present one got %v", err)
	}
}

func TestTheEpochIsOnDiskBeforeItsEffect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	g := opened(t, path)
	err := g.Do(5, func() error {
		if saved, err := onDisk(path); saved != 5 {
			t.Errorf("on disk is %d, %v", saved, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAGateNeedsAFile(t *testing.T) {
	if _, err := Open(""); err == nil {
		t.Error("a gate without a file")
	}
}

// A process that changes its directory keeps its gates.
func TestAGateStaysWhereItWasOpened(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs("epoch")
	if err != nil {
		t.Fatal(err)
	}
	gate, err := Open("epoch")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := gate.Admit(7); err != nil {
		t.Fatal(err)
	}
	if err := gate.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(here)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if seen := again.Seen(); seen != 7 {
		t.Errorf("it has seen %v", seen)
	}
}

func TestOneGateHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	first := opened(t, path)
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second got %v", err)
	}
	first.Close()
	opened(t, path)
}

func TestWhatIsNotARecordIsNeverTakenForAnEmptyOne(t *testing.T) {
	good := string(encode(42))
	for name, content := range map[string]string{
		"empty":            "",
		"zeros":            strings.Repeat("\x00", len(good)),
		"torn":             good[:len(good)/2],
		"a digit changed":  strings.Replace(good, "42", "43", 1),
		"a bare number":    "42\n",
		"another version":  strings.Replace(good, "fence 1", "fence 2", 1),
		"something behind": good + "\n",
		"twice":            good + good,
		"a negative epoch": string(encode(-42)),
		"too large":        string(encode(MaxEpoch + 1)),
		"no number":        strings.Replace(good, "42", "1e2", 1),
		"another field":    string(seal("podesta-fence 1 ballot 42")),
		"a leading zero":   string(seal("podesta-fence 1 epoch 042")),
		"too long":         strings.Repeat(good, 100),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "epoch")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a failed Open repairs nothing, and lets go of the lock
				_, err := Open(path)
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "Restore it") {
					t.Fatalf("%v; want an error that names the file and says what to do", err)
				}
			}
			if left, _ := os.ReadFile(path); string(left) != content {
				t.Errorf("the file was changed to %q", left)
			}
		})
	}
}

// The file as every version so far has written it. It is never changed here: a change of the format
// is a new version, beside this one.
func TestGoldenOfVersion1(t *testing.T) {
	const golden = "podesta-fence 1 epoch 42 checksum 7a769e40\n"
	if got := string(encode(42)); got != golden {
		t.Errorf("written as %q, want %q", got, golden)
	}
	if epoch, err := decode([]byte(golden)); epoch != 42 || err != nil {
		t.Errorf("read as %d, %v", epoch, err)
	}
}

func TestAFileOfANewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	data := seal("podesta-fence 2 what is to come")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

func TestANewGateIsOnDiskAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	if g := opened(t, path); g.Seen() != 0 {
		t.Error(g.Seen())
	}
	if epoch, err := onDisk(path); epoch != 0 || err != nil {
		t.Error(epoch, err)
	}
}

func TestADiskThatFailsAdmitsNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "epoch")
	g := opened(t, path)
	if err := g.Admit(5); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".tmp", 0o700); err != nil { // now nothing can be written there
		t.Fatal(err)
	}
	if err := g.Admit(6); err == nil || errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "not admitted") {
		t.Error(err)
	}
	if g.Seen() != 5 {
		t.Error(g.Seen())
	}
}

// FuzzDecode: what is taken for a record is exactly what encode made of that epoch.
func FuzzDecode(f *testing.F) {
	f.Add(encode(0))
	f.Add(encode(MaxEpoch))
	f.Add([]byte("podesta-fence 1 epoch 007 checksum 00000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		epoch, err := decode(data)
		if err != nil {
			return
		}
		if string(encode(epoch)) != string(data) || epoch < 0 || epoch > MaxEpoch {
			t.Fatalf("%q was taken for epoch %d", data, epoch)
		}
	})
}

// FuzzRecordDamage: an epoch comes back as it was kept, and with any byte changed it does not come
// back at all.
func FuzzRecordDamage(f *testing.F) {
	f.Add(int64(29353417113602), 10, byte(1))
	f.Fuzz(func(t *testing.T, number int64, at int, flip byte) {
		epoch := agent.Epoch(number) & MaxEpoch
		data := encode(epoch)
		if got, err := decode(data); got != epoch || err != nil {
			t.Fatalf("%d came back as %d, %v", epoch, got, err)
		}
		if flip == 0 {
			return
		}
		data[uint(at)%uint(len(data))] ^= flip
		if got, err := decode(data); err == nil {
			t.Fatalf("%d, damaged, was taken for %d", epoch, got)
		}
	})
}
