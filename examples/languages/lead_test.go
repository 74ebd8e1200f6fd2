package languages

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

var strikes = flag.Int("strikes", 10, "how often TestLeadHoldsALock strikes")

// lock is a command that cannot share: it takes a lock of the kernel, says so, and keeps it while
// anything that it has started runs. One of these is in a session of its own, and its parent has
// ended. None heeds SIGTERM. If somebody else has the lock, it ends with the code taken.
const (
	lock = `exec flock --nonblock --conflict-exit-code 9 "$LOCK" sh -c '
		trap "" TERM
		echo "$PODESTA_NAME $PODESTA_EPOCH" >"$TOLD"
		(setsid sleep 1000 &)
		exec sleep 1000'`
	taken = 9
)

// A command that lead runs as PID 1 never finds its lock taken. Strikes kill and pause whatever there
// is, lead for less than a permission.
func TestLeadHoldsALock(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds for each strike")
	}
	space := syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	try := exec.CommandContext(t.Context(), "true")
	try.SysProcAttr = &space
	if err := try.Run(); err != nil {
		t.Skip("this machine lets nobody make a process namespace: ", err)
	}
	dir := t.TempDir()
	lead, told := filepath.Join(dir, "lead"), filepath.Join(dir, "told")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", lead, "github.com/podesta-dev/podesta/client/cmd/lead")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	holders := readLines(t, told)
	replicas := startGroupIn(t, space, []string{"LOCK=" + filepath.Join(dir, "lock"), "TOLD=" + told},
		lead, "--", "sh", "-c", lock)

	seed := rand.Uint64()
	t.Logf("seed %d, %d strikes", seed, *strikes)
	dice := rand.New(rand.NewPCG(seed, 0))
	last := holder{}
	for range *strikes {
		now := <-holders
		if now.epoch <= last.epoch {
			t.Errorf("%v has the lock after %v", now, last)
		}
		last = now
		for !strike(t, dice, replicas[now.name]) {
		}
	}
	for name, r := range replicas {
		r.app.mu.Lock()
		for _, why := range r.app.ends {
			if exit := new(exec.ExitError); errors.As(why, &exit) && exit.ExitCode() == taken {
				t.Errorf("%s has found the lock taken", name)
			}
		}
		r.app.mu.Unlock()
	}
}

// strike does something to who leads. It reports whether that ends it.
func strike(t *testing.T, dice *rand.Rand, leads replica) (ends bool) {
	short := time.Duration(dice.Int64N(int64(group.Window / 4)))
	long := group.Window + time.Duration(dice.Int64N(int64(time.Second)))
	pause := func(c *container, d time.Duration) {
		signal(t, syscall.SIGSTOP, c)
		<-time.After(d)
		signal(t, syscall.SIGCONT, c)
	}
	switch dice.IntN(6) {
	case 0:
		signal(t, syscall.SIGKILL, leads.agent)
	case 1:
		signal(t, syscall.SIGKILL, leads.app)
	case 2:
		signal(t, syscall.SIGKILL, leads.app, leads.agent)
	case 3:
		signal(t, syscall.SIGTERM, leads.app)
	case 4:
		pause(leads.agent, long)
	default:
		pause(leads.app, short)
		return false
	}
	return true
}

// holder is who has the lock, under which epoch.
type holder struct {
	name  string
	epoch int64
}

// readLines makes a pipe of that name, and returns what is written to it.
func readLines(t *testing.T, path string) <-chan holder {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // so that it has no end while nobody writes
	if err != nil {
		t.Fatal(err)
	}
	lines, done := make(chan holder, 100), make(chan struct{})
	go func() {
		defer close(done)
		for scanner := bufio.NewScanner(pipe); scanner.Scan(); {
			name, number, _ := strings.Cut(scanner.Text(), " ")
			epoch, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				name = fmt.Sprintf("%q", scanner.Text())
			}
			lines <- holder{name, epoch}
		}
	}()
	t.Cleanup(func() {
		_ = pipe.Close()
		<-done
	})
	return lines
}
