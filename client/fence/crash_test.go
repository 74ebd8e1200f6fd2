package fence

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/leak"
)

func TestMain(m *testing.M) {
	if child() { // crash_test.go
		return
	}
	leak.VerifyTestMain(m)
}

const childEnv = "FENCE_TEST_CHILD"

// child is what this test binary does when TestKilled starts it: it admits one epoch after another
// and says so.
func child() bool {
	path := os.Getenv(childEnv)
	if path == "" {
		return false
	}
	g, err := Open(path)
	if err != nil {
		fmt.Println(err)
		return true
	}
	for epoch := g.Seen() + 1; ; epoch++ {
		if err := g.Do(epoch, func() error { return say(epoch) }); err != nil {
			return true
		}
	}
}

func say(epoch agent.Epoch) error {
	_, err := fmt.Printf("%d\n", epoch)
	return err
}

// A resource is killed (SIGKILL) again and again while it admits epochs as fast as it can: what it
// acted on it still knows, and its lock is gone with it.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	last := agent.Epoch(0)
	for start := range 10 {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		said := 0
		for lines := bufio.NewScanner(out); lines.Scan(); said++ {
			number, err := strconv.ParseInt(lines.Text(), 10, 64)
			epoch := agent.Epoch(number)
			if err != nil || epoch <= last {
				t.Fatalf("start %d: it said %q after %d", start, lines.Text(), last)
			}
			last = epoch
			if said == 5+3*start {
				c.Process.Kill() // what it says until the signal arrives counts, too
			}
		}
		_ = c.Wait() // it was killed
		g, err := Open(path)
		if err != nil {
			t.Fatalf("start %d: %v", start, err)
		}
		if g.Seen() < last {
			t.Fatalf("start %d: it acted under %d and remembers %d", start, last, g.Seen())
		}
		g.Close()
	}
	if last < 10 {
		t.Errorf("only %d epochs: nothing was tried", last)
	}
}

// The process dies or the power goes at every step: the file has the epoch that was admitted, or,
// if none was, the old or the new one, and the gate opens.
func TestACrashAtEveryStep(t *testing.T) {
	for number := 0; ; number++ {
		disk := newMemory(number, errCrashed)
		old := &content{memory: disk, data: encode(41), synced: true}
		disk.files["epoch"], disk.synced["epoch"] = old, old
		admitted := admit(disk, 42) == nil
		allowed := []agent.Epoch{41, 42}
		if admitted {
			allowed = []agent.Epoch{42}
		}
		for _, found := range append(disk.afterPowerLoss(), disk.restarted()) {
			g, err := open(found, "epoch")
			if err != nil || !slices.Contains(allowed, g.Seen()) {
				t.Errorf("crash at step %d, admitted %t: %v", number, admitted, err)
				continue
			}
			seen := g.Seen() // and what it has seen, no loss of power takes from it
			for _, later := range found.afterPowerLoss() {
				if g, err := open(later, "epoch"); err != nil || g.Seen() != seen {
					t.Errorf("crash at step %d: seen was %d, then %v", number, seen, err)
				}
			}
		}
		if admitted {
			if number < 9 {
				t.Errorf("admitted after %d steps: nothing was tried", number)
			}
			return
		}
	}
}

func admit(disk *memory, epoch agent.Epoch) error {
	g, err := open(disk, "epoch")
	if err != nil {
		return err
	}
	return g.Admit(epoch)
}

// A disk that fails once, at any step, admits nothing that it has not saved; the next try does.
func TestADiskThatFailsOnce(t *testing.T) {
	for number := 0; ; number++ {
		disk := newMemory(number, errIO)
		err := admit(disk, 42)
		if err == nil {
			return
		}
		if !errors.Is(err, errIO) {
			t.Fatalf("step %d: %v", number, err)
		}
		again := disk.restarted()
		if err := admit(again, 42); err != nil {
			t.Errorf("step %d failed, and so does the next try: %v", number, err)
		}
		for _, found := range again.afterPowerLoss() {
			if g, err := open(found, "epoch"); err != nil || g.Seen() != 42 {
				t.Errorf("step %d failed: after a loss of power %v", number, err)
			}
		}
	}
}
