package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/report"
)

// options are the flags that the measurements share.
type options struct {
	command  string // to repeat it
	agent    string
	systems  []string
	shortest time.Duration
	json     string
	keep     string
	patience time.Duration
	begun    time.Time
	version  string // of the agent
}

func (o *options) flagSet(command string) *pflag.FlagSet {
	o.command, o.begun = "go run . "+command, time.Now()
	f := pflag.NewFlagSet("peers "+command, pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.agent, "agent", "../../bin/agent", "Podesta's agent (make bin/agent)")
	f.DurationVar(&o.shortest, "lease-minimum", 100*time.Millisecond,
		"the shortest lease of Podesta's adaptive group")
	f.StringSliceVar(&o.systems, "systems", nil, "what to compare, by name (all)")
	f.StringVar(&o.json, "json", "", "append the results to this `FILE`, for peers report")
	f.StringVar(&o.keep, "keep", "", "keep state and logs of the members in this new `DIR`")
	f.DurationVar(&o.patience, "patience", 2*time.Minute, "how long a system may take to agree on a "+
		"leader, at first and after a fault")
	return f
}

func (o *options) parse(f *pflag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	f.Visit(func(changed *pflag.Flag) { // but where things are says nothing of what was measured
		if !slices.Contains([]string{"agent", "json", "keep"}, changed.Name) {
			o.command += fmt.Sprintf(" --%s=%s", changed.Name, strings.Trim(changed.Value.String(), "[]"))
		}
	})
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if o.agent, err = filepath.Abs(o.agent); err != nil {
		return err
	}
	if _, err := os.Stat(o.agent); err != nil {
		return fmt.Errorf("--agent: %w (make bin/agent)", err)
	}
	//nolint:gosec,noctx // the user names it
	version, err := exec.Command(o.agent, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", o.agent, err)
	}
	o.version = strings.TrimSpace(string(version))
	return nil
}

// choose returns those of the systems that --systems names.
func (o *options) choose(systems []system) ([]system, error) {
	names := make([]string, len(systems))
	var chosen []system
	for i, s := range systems {
		names[i] = s.name
		if slices.Contains(o.systems, s.name) || len(o.systems) == 0 && !s.optional {
			chosen = append(chosen, s)
		}
	}
	for _, name := range o.systems {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--systems: there is no %q: there are %s", name,
				strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

// place makes the folder for state and logs; done removes it unless it is to be kept.
func (o *options) place() (dir string, done func(), err error) {
	if o.keep != "" {
		dir, err = filepath.Abs(o.keep)
		return dir, func() {}, errors.Join(err, os.Mkdir(dir, 0o700))
	}
	dir, err = os.MkdirTemp("", "peers-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// record begins a record of what a system did.
func (o *options) record(kind, system, under string) report.Record {
	return report.Record{
		Kind:    kind,
		System:  system,
		Under:   under,
		Begun:   o.begun,
		Machine: machine(),
		Command: o.command,
		Version: o.version,
		Harness: harness(),
	}
}

// write appends the record to the file, if there is one.
func (o *options) write(r report.Record) error {
	if o.json == "" {
		return nil
	}
	return report.Append(o.json, r)
}

func machine() string {
	return fmt.Sprintf("%d cores, %s/%s, kernel %s, %s", runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, kernel(), runtime.Version())
}

// kernel is its release, without what a distribution adds.
func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return regexp.MustCompile(`^[0-9.]*[0-9]`).FindString(string(release))
}

// harness is the commit of this program, as far as its build knows.
func harness() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 8)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", changed"
		}
	}
	return commit + dirty
}
