package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options are the flags that the measurements share.
type options struct {
	agents   []string // [NAME=]PATH
	systems  []string
	json     string
	keep     string
	patience time.Duration
}

// results are what --json writes. Durations are in nanoseconds.
type results struct {
	Begun     time.Time         `json:"begun"`
	Machine   string            `json:"machine"`
	Arguments []string          `json:"arguments"`
	Versions  map[string]string `json:"versions"` // of the agents, by system
	Failovers []failovers       `json:"failovers,omitempty"`
	Stress    []stressed        `json:"stress,omitempty"`
}

func (o *options) flagSet(command string) *pflag.FlagSet {
	f := pflag.NewFlagSet("peers "+command, pflag.ContinueOnError)
	f.SortFlags = false
	f.StringSliceVar(&o.agents, "agent", []string{"../../bin/agent"},
		"Podesta's agent (make bin/agent), as `[NAME=]PATH`; several builds are systems of their own, "+
			"with their NAMEs at the end")
	f.StringSliceVar(&o.systems, "systems", nil, "what to compare, by name, without the NAME of an "+
		"agent (all)")
	f.StringVar(&o.json, "json", "", "write the results to this `FILE`, too")
	f.StringVar(&o.keep, "keep", "", "keep state and logs of the members in a new folder of `DIR`")
	f.DurationVar(&o.patience, "patience", 2*time.Minute, "how long a system may take to agree on a "+
		"leader, at first and after a fault")
	return f
}

// parse reads the flags. It returns the systems to compare, and results without figures yet.
func (o *options) parse(
	f *pflag.FlagSet, args []string, known []system,
) ([]system, *results, error) {
	if err := f.Parse(args); err != nil {
		return nil, nil, err
	}
	if f.NArg() > 0 {
		return nil, nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	chosen, err := choose("systems", o.systems, known, func(y system) string { return y.name })
	if err != nil {
		return nil, nil, err
	}
	r := &results{
		Begun: time.Now(),
		Machine: fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
			runtime.Version()),
		Arguments: slices.Concat([]string{f.Name()}, args),
		Versions:  map[string]string{},
	}
	systems, err := o.withAgents(chosen, r.Versions)
	return systems, r, err
}

// choose returns those that a flag names, in its order; all if it names none.
func choose[T any](
	flag string, names []string, all []T, name func(T) string,
) (some []T, err error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, one := range all {
		known = append(known, name(one))
	}
	for _, n := range names {
		i := slices.Index(known, n)
		if i < 0 {
			return nil, fmt.Errorf("--%s: there is no %q: there are %s", flag, n,
				strings.Join(known, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// withAgents has each of Podesta's systems once for each agent, and notes the agents' versions.
func (o *options) withAgents(
	systems []system, versions map[string]string,
) (all []system, err error) {
	for _, s := range systems {
		if !s.podesta {
			all = append(all, s)
			continue
		}
		for _, agent := range o.agents {
			y := s
			if name, path, ok := strings.Cut(agent, "="); ok {
				y.name, agent = y.name+"-"+name, path
			}
			if y.agent, err = filepath.Abs(agent); err != nil {
				return nil, err
			}
			//nolint:gosec,noctx // the user names it
			version, err := exec.Command(y.agent, "--version").Output()
			if err != nil {
				return nil, fmt.Errorf("--agent: %s --version: %w (make bin/agent)", y.agent, err)
			}
			if _, twice := versions[y.name]; twice {
				return nil, errors.New("--agent: several agents need a NAME each: NAME=PATH")
			}
			versions[y.name] = strings.TrimSpace(string(version))
			all = append(all, y)
		}
	}
	return all, nil
}

// write writes the results to the file, if there is one.
func (o *options) write(r *results) error {
	if o.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	//nolint:gosec // it is no secret
	return os.WriteFile(o.json, append(text, '\n'), 0o644)
}

// run calls measure with a folder for state and logs, and with the servers that the systems need.
// Then it says what the systems are, and writes the results.
func (o *options) run(
	ctx context.Context, systems []system, results *results,
	measure func(dir string, servers *servers) error,
) error {
	if err := adopt(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.keep, "peers-")
	if err != nil {
		return err
	}
	if o.keep == "" {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	servers, err := startServers(ctx, dir, systems)
	if err == nil {
		err = measure(dir, servers)
	}
	if err := errors.Join(err, servers.stop()); err != nil {
		return err
	}
	describe(os.Stdout, systems)
	return o.write(results)
}
