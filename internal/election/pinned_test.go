package election_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election/electiontest"
)

var freshFlag = flag.Duration("fresh", 0,
	"simulate seeds that nobody has tried, for so long in all, and pin those that fail")

// pinnedSeeds has a line for each seed that failed when nobody had tried it before: MODE ALGORITHM SEED WHY.
// A line goes when the bug is mended and a scenario shows it, and not before.
const pinnedSeeds = "pinned_seeds.txt"

// TestPinnedSeeds runs the seeds that fresh searches have found, so that they fail until they are mended.
func TestPinnedSeeds(t *testing.T) {
	text, err := os.ReadFile(pinnedSeeds)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		o, err := unpin(line)
		if err != nil {
			t.Errorf("%s: %q: %v", pinnedSeeds, line, err)
			continue
		}
		t.Run(fmt.Sprintf("%s/%d", o.Algorithm, o.Seed), func(t *testing.T) {
			explain(t, electiontest.NewSimulator(), o)
		})
	}
}

// pin writes down a seed that failed.
func pin(t *testing.T, o electiontest.Options, failure error) {
	mode := modes[0].name
	if o.Guarded {
		mode = modes[1].name
	}
	why, _, _ := strings.Cut(failure.Error(), "\n")
	file, err := os.OpenFile(pinnedSeeds, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "%s %s %d %s\n", mode, o.Algorithm, o.Seed, why)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Errorf("seed %d of %s failed, and could not be pinned: %v", o.Seed, o.Algorithm, err)
		return
	}
	t.Logf("pinned in %s: %s %s %d", pinnedSeeds, mode, o.Algorithm, o.Seed)
}

// unpin is what a line of the file draws.
func unpin(line string) (electiontest.Options, error) {
	var name, algorithm string
	var seed uint64
	if _, err := fmt.Sscanf(line, "%s %s %d", &name, &algorithm, &seed); err != nil {
		return electiontest.Options{}, err
	}
	for _, mode := range modes {
		if mode.name == name {
			return mode.draw(algorithm, seed), nil
		}
	}
	return electiontest.Options{}, fmt.Errorf("no mode is called %s", name)
}

// What is written down is what is read.
func TestAPinnedSeedIsDrawnAgain(t *testing.T) {
	for _, mode := range modes {
		t.Chdir(t.TempDir())
		if err := os.WriteFile(pinnedSeeds, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		o := mode.draw("Bully", 4711)
		pin(t, o, fmt.Errorf("G1 at %d: two act\nand more", time.Second))
		text, err := os.ReadFile(pinnedSeeds)
		if err != nil {
			t.Fatal(err)
		}
		again, err := unpin(string(text))
		if err != nil || again.Seed != o.Seed || again.Algorithm != o.Algorithm || again.Guarded != o.Guarded ||
			strings.Count(string(text), "\n") != 1 {
			t.Errorf("%q draws seed %d of %s, %v", text, again.Seed, again.Algorithm, err)
		}
	}
	if _, err := unpin("Mild Bully 1 why"); err == nil {
		t.Error("a mode that does not exist is drawn")
	}
}
