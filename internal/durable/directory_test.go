package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/internal/durable"
	"github.com/podesta-dev/podesta/internal/durable/durabletest"
)

// The double does what a real directory does, as long as nothing fails.
func TestTheDoubleIsLikeADirectory(t *testing.T) {
	var transcripts [2]string
	for i, system := range []durable.System{durable.Directory(t.TempDir()), durabletest.New()} {
		var b strings.Builder
		note := func(what string, err error) {
			for _, known := range []error{nil, fs.ErrNotExist} {
				if errors.Is(err, known) {
					fmt.Fprintln(&b, what, known)
					return
				}
			}
			fmt.Fprintf(&b, "%s %T\n", what, err)
		}
		put := func(name, data string) {
			f, err := system.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(f, data)
			note("put "+name, errors.Join(err, f.Sync(), f.Close()))
		}
		get := func(name string) {
			f, err := system.Open(name)
			if err != nil {
				note("get "+name, err)
				return
			}
			data, err := io.ReadAll(f)
			note(fmt.Sprintf("get %s %q", name, data), errors.Join(err, f.Close()))
		}
		unlock, err := system.Lock("lock")
		note("lock", err)
		_, err = system.Lock("lock")
		note("lock again", err)
		note("unlock", unlock())
		unlock, err = system.Lock("lock")
		note("lock", err)
		note("unlock", unlock())
		overwrite := func(name, data string, at int64) {
			f, err := system.Overwrite(name)
			if err != nil {
				note("overwrite "+name, err)
				return
			}
			_, err = f.WriteAt([]byte(data), at)
			note("overwrite "+name, errors.Join(err, f.Sync(), f.Close()))
		}
		get("a")
		overwrite("a", "there is none", 0)
		put("a", "first, which is longer")
		overwrite("a", "which was ", 7)
		get("a")
		put("a", "second")
		get("a")
		note("rename", system.Rename("a", "b"))
		note("rename again", system.Rename("a", "b"))
		put("a", "third")
		note("rename", system.Rename("a", "b"))
		get("a")
		get("b")
		note("remove", system.Remove("b"))
		note("remove again", system.Remove("b"))
		note("sync", system.Sync())
		transcripts[i] = b.String()
	}
	if transcripts[0] != transcripts[1] {
		t.Errorf("a directory:\n%s\nthe double:\n%s", transcripts[0], transcripts[1])
	}
}

// Devices and /proc refuse fsync: whoever does not notice did not call it. /dev/full is full.
func TestTheDiskIsReallySynced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it takes the devices and the /proc of Linux")
	}
	for device, want := range map[string]error{
		"/dev/null": syscall.EINVAL,
		"/dev/full": syscall.ENOSPC,
	} {
		dir := t.TempDir()
		s := open(t, durable.Directory(dir))
		if err := os.Symlink(device, filepath.Join(dir, "a.tmp")); err != nil {
			t.Fatal(err)
		}
		if err := s.Write("a", []byte("new")); !errors.Is(err, want) {
			t.Errorf("a file on %s: %v, want %v", device, err, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	for device, want := range map[string]error{
		"/dev/null": syscall.EINVAL,
		"/dev/full": syscall.ENOSPC,
	} {
		f, err := durable.Directory(filepath.Dir(device)).Overwrite(filepath.Base(device))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("new"), 0)
		if err := errors.Join(err, f.Sync(), f.Close()); !errors.Is(err, want) {
			t.Errorf("%s is overwritten: %v, want %v", device, err, want)
		}
	}
	if err := durable.Directory("/proc/self").Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the sync of a directory that cannot be synced returned %v", err)
	}
}

func TestFilesAreTheirOwnersOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "state")
	if err := errors.Join(durable.MakeDirectory(dir), durable.MakeDirectory(dir)); err != nil {
		t.Fatal(err)
	}
	s := open(t, durable.Directory(dir))
	if err := s.Write("a", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"":     0o700,
		"..":   0o700,
		"a":    0o600,
		"lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
}

func TestAFileInPlaceOfTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.MakeDirectory(filepath.Join(path, "below")); err == nil {
		t.Error("it was made")
	}
	if _, err := durable.Open(durable.Directory(path), "lock"); err == nil {
		t.Error("it was opened")
	}
}

const holderEnv = "DURABLE_TEST_HOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderEnv); dir != "" {
		_, err := durable.Open(durable.Directory(dir), "lock", "a")
		fmt.Println("open", err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	os.Exit(m.Run())
}

// The error says which process has the directory, and a process that is killed has it no longer.
func TestTheLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), holderEnv+"="+dir)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open <nil>\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	_, err = durable.Open(durable.Directory(dir), "lock", "a")
	var locked *durable.LockedError
	want := fmt.Sprintf("process %d on host", c.Process.Pid)
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want an error that names %s", err, want)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	open(t, durable.Directory(dir))
}
