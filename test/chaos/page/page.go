// Package page makes docs/evidence/chaos.md and its plots from the report of a chaos run. The same
// report gives the same bytes.
//
// What is said is decided apart from how it is written and drawn: counts, outcomes and spreads are
// computed from the report alone (count.go, outcome.go, rows.go, problems.go), then filled into
// chaos.md.tmpl and drawn with gonum/plot. Nothing is left out of the page because it looks bad:
// the problems of a run come first, and every strike is in a table.
package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// The files of a page, by their paths below its directory. A plot for which the report has no times
// is not drawn.
const (
	document        = "chaos.md"
	faultsPlot      = "chaos/faults.svg"
	algorithmsPlot  = "chaos/algorithms.svg"
	milestonesPlot  = "chaos/milestones.svg"
	directoryRights = 0o755
	fileRights      = 0o644
)

// The safety modes, as a report spells them.
const (
	guarded = "Guarded"
	classic = "Classic"
)

var plots = []string{faultsPlot, algorithmsPlot, milestonesPlot}

// Read reads the report that a run has left. The error names the file, and what is wrong with it.
func Read(file string) (report.Run, error) {
	var run report.Run
	data, err := os.ReadFile(file)
	if err != nil {
		return run, err
	}
	if err := json.Unmarshal(data, &run); err != nil {
		return run, fmt.Errorf("%s: not the report of a chaos run: %w", file, err)
	}
	if err := check(run); err != nil {
		return run, fmt.Errorf("%s: %w", file, err)
	}
	return run, nil
}

// check says what in a report a page cannot be made of.
func check(run report.Run) error {
	groups := map[string]bool{}
	for _, g := range run.Groups {
		if g.Safety != guarded && g.Safety != classic {
			return fmt.Errorf("group %s: safety %q: must be %s or %s", g.Name, g.Safety, guarded, classic)
		}
		if groups[g.Name] {
			return fmt.Errorf("two groups have the name %s", g.Name)
		}
		groups[g.Name] = true
	}
	if len(groups) == 0 {
		return errors.New("no groups: nothing ran")
	}
	for _, s := range run.Strikes {
		if !groups[s.Group] {
			return fmt.Errorf("a strike at second %.1f is of group %q, which is not among the groups",
				s.Second, s.Group)
		}
		for _, t := range []*float64{s.Times.Acts, s.Times.Agreed, s.Times.Status, s.Times.Service} {
			if t != nil && *t < 0 { // an axis would show it as no time at all
				return fmt.Errorf("a strike at second %.1f has an effect %g ms before it", s.Second, -*t)
			}
		}
	}
	return nil
}

// Make returns the files of the page of a report, by their paths below the page's directory.
func Make(run report.Run) (map[string][]byte, error) {
	if err := check(run); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for path, draw := range map[string]func() ([]byte, error){
		faultsPlot:     func() ([]byte, error) { return drawFaults(byFault(run), leaseOf(run)) },
		algorithmsPlot: func() ([]byte, error) { return drawAlgorithms(byAlgorithm(run), leaseOf(run)) },
		milestonesPlot: func() ([]byte, error) { return drawMilestones(byClass(run), leaseOf(run)) },
	} {
		picture, err := draw()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if picture != nil {
			files[path] = picture
		}
	}
	said, err := write(run, files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	files[document] = said
	return files, nil
}

// leaseOf is the Guarded groups' lease in milliseconds.
func leaseOf(run report.Run) float64 { return float64(run.LeaseMilliseconds) }

// Write makes the page of a report and writes it into a directory; a plot of an earlier page that
// this one lacks is removed.
func Write(run report.Run, dir string) error {
	files, err := Make(run)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(faultsPlot)), directoryRights); err != nil {
		return err
	}
	for _, path := range plots {
		if files[path] != nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for path, data := range files {
		if err := os.WriteFile(filepath.Join(dir, path), data, fileRights); err != nil {
			return err
		}
	}
	return nil
}
