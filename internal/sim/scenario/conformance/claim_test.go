package conformance

import (
	"fmt"
	"strings"

	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Claim is a statement of a seed, and how it is tried.
type Claim struct {
	Section string
	Quote   string // as the seed has it; […] where words are left out
	Reading string // what is counted, and what the words are taken to mean
	Measure func(*Finding)
	// Convention says on what counting the figures rest, where the seed's words alone do not give
	// them.
	Convention string
	// Because says why the figures do not come out. A claim without it must come out, and one with it
	// must not.
	Because string
	// Call has the flags with which `kubectl election simulate` plays the last case that is measured,
	// for a claim with either of these two.
	Call string
}

// Finding is what was measured: a table, and how many of its figures are not what the seed says.
type Finding struct {
	header []string
	rows   [][]string
	wrong  int
	right  int
	err    error
	newest *scenario.Result // of what was played
}

// Verdict is what became of a claim.
type Verdict string

// The verdicts.
const (
	Holds           Verdict = "holds"
	HoldsConvention Verdict = "holds with this convention"
	Fails           Verdict = "does not come out"
)

// Try measures a claim. It fails if a simulation does, if nothing was compared, or if the verdict
// is not the one that the claim explains.
func (c Claim) Try() (*Finding, Verdict, error) {
	f := &Finding{}
	c.Measure(f)
	switch {
	case f.err != nil:
		return f, "", f.err
	case f.right+f.wrong == 0:
		return f, "", fmt.Errorf("nothing was compared with %q", c.Quote)
	case (c.Because != "" || c.Convention != "") != (c.Call != ""):
		return f, "", fmt.Errorf("%q needs a call that repeats it just if something is said of it", c.Quote)
	case f.wrong > 0 && c.Because == "":
		return f, Fails, fmt.Errorf("%d figures of %q do not come out, and nobody says why:\n%s", f.wrong, c.Quote, f.table())
	case f.wrong > 0:
		return f, Fails, nil
	case c.Because != "":
		return f, Holds, fmt.Errorf("%q comes out, but it is said not to", c.Quote)
	case c.Convention != "":
		return f, HoldsConvention, nil
	default:
		return f, Holds, nil
	}
}

func (f *Finding) columns(header ...string) { f.header = header }

// row adds a line to the table; cells that are compared come from compare.
func (f *Finding) row(cells ...any) {
	line := make([]string, 0, len(cells))
	for _, c := range cells {
		line = append(line, fmt.Sprint(c))
	}
	f.rows = append(f.rows, line)
}

// compare counts whether a figure is what it should be, and marks it if it is not.
func compare[T comparable](f *Finding, got, want T) string {
	if got == want {
		f.right++
		return fmt.Sprint(got)
	}
	f.wrong++
	return fmt.Sprintf("**%v**", got)
}

// fail notes a simulation that failed.
func (f *Finding) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// table writes the finding as Markdown.
func (f *Finding) table() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(f.header)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(f.header)))
	for _, row := range f.rows {
		line(row)
	}
	return b.String()
}

// series compares a figure with the seed's formula over a range of n.
func (f *Finding) series(what string, from, to int, claimed, measured func(n int) int) {
	f.compareSeries("the seed: ", what, from, to, claimed, measured)
}

// reckoned is series, up to ten processes, for a formula that is not the seed's own but follows
// from its rules.
func (f *Finding) reckoned(what string, from int, formula, measured func(n int) int) {
	f.compareSeries("by its rules: ", what, from, 10, formula, measured)
}

// compareSeries adds two rows; what is counted may end in a comma and the formula.
func (f *Finding) compareSeries(whose, what string, from, to int, claimed, measured func(n int) int) {
	counted, formula, _ := strings.Cut(what, ", ")
	header, claims, figures := []string{"n"}, []any{whose + formula}, []any{counted}
	for n := from; n <= to; n++ {
		want := claimed(n)
		header = append(header, fmt.Sprint(n))
		claims = append(claims, want)
		figures = append(figures, compare(f, measured(n), want))
	}
	if len(f.header) == 0 {
		f.columns(header...)
	}
	f.row(claims...)
	f.row(figures...)
}
