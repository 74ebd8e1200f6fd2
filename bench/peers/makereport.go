package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/report"
)

// makeReport makes the page and the plots.
func makeReport(args []string) error {
	f := pflag.NewFlagSet("peers report", pflag.ContinueOnError)
	files := f.StringSlice("json", nil, "the `FILES` that failover and stress have written")
	note := f.String("note", "", "a `SENTENCE` about the run for the page, such as what else the "+
		"machine did")
	out := f.String("out", "../../docs/evidence",
		"the `DIR` for performance.md and the folder performance")
	if err := f.Parse(args); err != nil {
		return err
	}
	if len(*files) == 0 {
		return errors.New("--json names the files to report on")
	}
	var all []report.Record
	for _, file := range *files {
		some, err := report.Read(file)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	if err := report.Write(*out, all, *note, meaning); err != nil {
		return err
	}
	fmt.Println("wrote performance.md and performance/*.svg in", *out)
	return nil
}

// meaning says what a condition (of kind report.Stress) or a system is.
func meaning(kind, name string) string {
	if kind == report.Stress {
		if c, err := condition.Find(name); err == nil {
			return c.Meaning
		}
		return ""
	}
	for _, tried := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond,
		300 * time.Millisecond, 500 * time.Millisecond} {
		o := failoverOptions{options: options{shortest: tried}}
		for _, s := range o.known() {
			if s.name == name {
				return s.meaning
			}
		}
	}
	return ""
}
