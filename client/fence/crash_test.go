package fence

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

const childEnv = "FENCE_TEST_CHILD"

// child is what this test binary does when TestKilled starts it: it admits one epoch after another and says so.
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
		if err := g.Do(epoch, func() error { _, err := fmt.Println(epoch); return err }); err != nil {
			return true
		}
	}
}

// A resource is killed (SIGKILL) again and again while it admits epochs as fast as it can: what it acted on it still knows,
// and its lock is gone with it.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "epoch")
	last := int64(0)
	for life := range 10 {
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
			epoch, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil || epoch <= last {
				t.Fatalf("life %d: it said %q after %d", life, lines.Text(), last)
			}
			last = epoch
			if said == 5+3*life {
				c.Process.Kill() // what it says until the signal arrives counts, too
			}
		}
		_ = c.Wait() // it was killed
		g, err := Open(path)
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		if g.Seen() < last {
			t.Fatalf("life %d: it acted under %d and remembers %d", life, last, g.Seen())
		}
		g.Close()
	}
	if last < 10 {
		t.Errorf("only %d epochs: nothing was tried", last)
	}
}

// A loss of power cannot be had in a test, so here is a disk that loses what a disk may lose: of a file that was not synced
// any part, of the names those that changed since the directory was synced.
type losingDisk struct {
	files         map[string]*content // by the names that a running system sees
	durable       map[string]*content // by those that survive
	steps, powers int                 // how many steps it does before the power goes
}

type content struct {
	data   []byte
	synced bool
}

func (d *losingDisk) step(do func()) error {
	if d.steps == d.powers {
		return fmt.Errorf("no power")
	}
	d.steps++
	do()
	return nil
}

func (d *losingDisk) write(data []byte) error {
	return d.step(func() { d.files["tmp"] = &content{data: data} })
}
func (d *losingDisk) sync() error { return d.step(func() { d.files["tmp"].synced = true }) }
func (d *losingDisk) rename() error {
	return d.step(func() { d.files["epoch"] = d.files["tmp"]; delete(d.files, "tmp") })
}
func (d *losingDisk) syncDirectory() error { return d.step(func() { d.durable = maps.Clone(d.files) }) }

// after is everything that may be in the file when the power is back.
func (d *losingDisk) after() [][]byte {
	var outcomes [][]byte
	for _, names := range []map[string]*content{d.files, d.durable} {
		c := names["epoch"]
		outcomes = append(outcomes, c.data)
		if !c.synced {
			outcomes = append(outcomes, nil, c.data[:len(c.data)/2], bytes.Repeat([]byte{0}, len(c.data)))
		}
	}
	return outcomes
}

func TestPowerIsLostAtEveryStep(t *testing.T) {
	for powers := range 5 {
		old := &content{data: encode(41), synced: true}
		d := &losingDisk{files: map[string]*content{"epoch": old}, durable: map[string]*content{"epoch": old}, powers: powers}
		admitted := replace(d, encode(42)) == nil
		if admitted != (powers == 4) {
			t.Errorf("admitted %t with power for %d steps of 4", admitted, powers)
		}
		allowed := []int64{41, 42}
		if admitted {
			allowed = []int64{42}
		}
		for _, data := range d.after() {
			if epoch, err := decode(data); err != nil || !slices.Contains(allowed, epoch) {
				t.Errorf("power for %d steps, admitted %t: in the file is %q", powers, admitted, data)
			}
		}
	}
}
