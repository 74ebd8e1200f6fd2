// Command mutants puts known bugs into the code, one at a time, and sees whether the tests notice:
// the goldens and unit tests of the package, the history of the simulator that the bug comes from,
// then the searches of hunts.go. It changes nothing in the tree: the compiler gets the mutant as an
// overlay. The mutants of a package are in its file mutants.txt.
//
//	go run ./hack/mutants [-only REGEXP] [-shuffles N] [-searches all|needed|none] [-o PAGE]
//
// The tests of the package are enough: most packages have no searches. With -shuffles they must
// notice each mutant in every order, so that none is noticed by luck.
//
// It fails if a mutant survives, if the history that it names passes, if one that is listed as
// equivalent is noticed, if its tests could not run, if a search finds something without a mutant,
// or if the text that it replaces is not in the
// code exactly once (then the table needs mending).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"time"
)

type options struct {
	effort
	page     string
	only     *regexp.Regexp
	parallel int
	within   time.Duration
	check    bool
	shuffles int
	searches string
	without  *without
}

// What a search is run for.
const (
	searchAll    = "all"
	searchNeeded = "needed"
	searchNone   = "none"
)

func main() {
	var o options
	only := flag.String("only", "", "try only mutants whose package or name matches, such as "+
		"internal/lease or ^promises")
	flag.StringVar(&o.page, "o", "", "write what was found into the table of this file, beside what "+
		"it has of the other mutants")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(),
		"how many mutants to try at once, each on one processor")
	flag.DurationVar(&o.within, "within", 0, "begin at a random mutant, and begin none after this "+
		"time; 0: try all")
	flag.BoolVar(&o.check, "check", false, "only see that the mutants compile")
	flag.IntVar(&o.shuffles, "shuffles", 0,
		"run the tests of a mutant's package so many times, each in an order of its own; 0: once, as "+
			"they stand")
	flag.StringVar(&o.searches, "searches", searchAll,
		"where a package has searches: "+searchAll+" searches for each mutant, "+
			searchNeeded+" for those that its tests do not notice, "+searchNone+" leaves them to the tests")
	flag.IntVar(&o.seeds, "seeds", 3000, "how many seeds of each algorithm the simulator has for a "+
		"mutant of an algorithm")
	flag.IntVar(&o.guarded, "guarded", 300, "how many seeds of each algorithm it has in Guarded "+
		"mode for a mutant of lease")
	flag.IntVar(&o.wanders, "wanders", 2000, "how many random schedules a mutant of lease gets")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, o)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if !slices.Contains([]string{searchAll, searchNeeded, searchNone}, o.searches) {
		return fmt.Errorf("-searches %s: must be %s, %s or %s", o.searches, searchAll, searchNeeded,
			searchNone)
	}
	all, err := tables(".")
	if err != nil {
		return err
	}
	tried := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return !o.only.MatchString(m.pkg) && !o.only.MatchString(m.name)
	})
	if len(tried) == 0 {
		return fmt.Errorf("no mutant of %d matches %s", len(all), o.only)
	}
	if _, err := os.Stat(filepath.Dir(o.page)); o.page != "" && err != nil {
		return err // now, not in half an hour
	}
	o.without = &without{}
	results, err := tryAll(ctx, tried, o)
	if err != nil {
		return err
	}
	if o.page != "" && !o.check && o.searches != searchNone {
		at, err := now(ctx)
		if err == nil {
			err = keep(o.page, all, results, at)
		}
		if err != nil {
			return err
		}
	}
	sum, err := conclude(results, len(tried), o.check)
	fmt.Println(sum)
	return err
}

// sound reports whether a result is as it should be: the mutant was caught, or is equivalent and
// was not.
func (r result) sound() bool {
	return r.err == nil && r.passed == "" && r.caught() != r.equivalent() &&
		(r.missed == "" || !r.equivalent())
}

// conclude returns the sum in words, and an error if a mutant survived or could not be tried.
// Mutants that were only compiled have survived nothing.
func conclude(results []result, wanted int, compiled bool) (sum string, err error) {
	var survived, failed []error
	equivalent := 0
	for _, r := range results {
		switch {
		case r.err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", r.name, r.err))
		case compiled:
		case r.equivalent() && (r.caught() || r.missed != ""):
			failed = append(failed, fmt.Errorf("%s is called equivalent, and is not: %s %s %s",
				r.name, r.tests, r.search, r.missed))
		case r.passed != "":
			failed = append(failed, fmt.Errorf("%s: the history %s does not fail", r.name, r.passed))
		case r.equivalent():
			equivalent++
		case !r.caught():
			survived = append(survived, fmt.Errorf(
				"%s survived: strengthen a test, or call it equivalent in %s/%s and say why. %s",
				r.name, r.pkg, tableName, r.missed))
		}
	}
	sum = fmt.Sprintf("mutants: %d tried, %d survived, %d are equivalent, %d failed", len(results),
		len(survived), equivalent, len(failed))
	if len(results) < wanted {
		sum += fmt.Sprintf("; %d left out for lack of time", wanted-len(results))
	}
	return sum, errors.Join(append(survived, failed...)...)
}
