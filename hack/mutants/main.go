// Command mutants shows whether the tests notice when the safety core is wrong. It makes one small
// change after another to the code, such as < for <=, and runs the tests of the package with it. If
// they pass, the mutant has survived: a test is missing, or the code does nothing.
//
//	go run ./hack/mutants [-only REGEXP] [-within 10m] [-o FILE]
//
// The tree stays as it is: the compiler gets the changed file as an overlay. The operators are in
// operators.go. If a change to a line makes no difference, the line ends with a comment that says
// why:
//
//	if at >= best { //mutants:ignore of two that are equal, either will do
//
// The command fails if a mutant survived, or if tests fail without one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// core is the code that keeps two processes from acting at once: folders, and of some folders only
// these files.
var core = []struct {
	folder string
	files  []string // nil: all
}{
	{"internal/election", nil},
	{"internal/lease", nil},
	{"internal/membership", nil},
	{"internal/node", nil},
	{"internal/detector", nil},
	{"internal/durable", nil},
	{"internal/statedir", nil},
	{"internal/agent", []string{"ledger.go", "ready.go", "session.go", "writer.go"}}, // permissions
	{"controllers/group", []string{
		"ended_pods.go", "facts.go", // who has ended
		"leftover_roles.go", "role_label.go",
		"apply.go", "roster.go", "state.go", // the roster is persisted before it is handed out
	}},
	{"client/agent", nil},
	{"client/fence", nil},
	{"client/kubernetes", nil},
	{"client/kubernetes/controllerruntime", nil},
}

type options struct {
	only   *regexp.Regexp
	within time.Duration
	file   string
}

func main() {
	var o options
	only := flag.String("only", "", "try only mutants that match, such as internal/lease/voter.go")
	flag.DurationVar(&o.within, "within", 0, "begin with a random mutant, and begin none after this "+
		"time; 0: try all")
	flag.StringVar(&o.file, "o", "", "write the result to this file as Markdown, too")
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
	all, err := mutants(o.only)
	if err != nil {
		return err
	}
	first := 0
	if o.within > 0 {
		first = rand.IntN(len(all))
	}
	fmt.Printf("mutants: %d, from number %d\n", len(all), first)
	results, err := tryAll(ctx, append(all[first:len(all):len(all)], all[:first]...), o.within)
	if err != nil {
		return err
	}
	text, survived := report(results, len(all))
	fmt.Print("\n" + text)
	if o.file != "" {
		err = os.WriteFile(o.file, []byte(text), 0o644)
	}
	if survived > 0 {
		err = errors.Join(err, fmt.Errorf("%d survived: add a test, or a comment that says why the "+
			"change makes no difference", survived))
	}
	return err
}

// mutants returns those of the core that match.
func mutants(only *regexp.Regexp) (matching []mutant, err error) {
	for _, c := range core {
		all, err := inFolder(c.folder, c.files)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if only.MatchString(m.String()) {
				matching = append(matching, m)
			}
		}
	}
	if len(matching) == 0 {
		return nil, fmt.Errorf("no mutant matches %s", only)
	}
	return matching, nil
}

type result struct {
	mutant
	verdict verdict
}

// tryAll tries mutants in their order, some at a time, while there is time.
func tryAll(ctx context.Context, all []mutant, within time.Duration) (results []result, err error) {
	var (
		begun = time.Now()
		mu    sync.Mutex
		tests = suites{limits: map[string]time.Duration{}}
	)
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.NumCPU())
	for _, m := range all {
		if ctx.Err() != nil || within > 0 && time.Since(begun) > within {
			break
		}
		workers.Go(func() error {
			v, err := tests.try(ctx, m)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			results = append(results, result{m, v})
			fmt.Printf("%9s  %s\n", v, m)
			return nil
		})
	}
	err = workers.Wait()
	return results, err
}

// report returns the result as Markdown.
func report(results []result, all int) (text string, survived int) {
	counts := map[string]map[verdict]int{}
	var survivors, rows strings.Builder
	for _, r := range results {
		if counts[r.folder] == nil {
			counts[r.folder] = map[verdict]int{}
		}
		counts[r.folder][r.verdict]++
		if r.verdict == alive {
			survived++
			fmt.Fprintf(&survivors, "- %s\n", r)
		}
	}
	for _, c := range core {
		if n := counts[c.folder]; n != nil {
			fmt.Fprintf(&rows, "| %s | %d | %d | %d |\n", c.folder, n[killed], n[alive], n[invalid])
		}
	}
	return fmt.Sprintf("# Mutants\n\n%d of %d were tried, and %d survived.\n\n"+
		"| package | killed | survived | did not compile |\n|---|---|---|---|\n%s\n%s",
		len(results), all, survived, rows.String(), survivors.String()), survived
}
