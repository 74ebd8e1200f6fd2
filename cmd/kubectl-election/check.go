package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/internal/check"
	"github.com/podesta-dev/podesta/internal/display/text"
)

const checkLong = `Check an installation: the API server, the definition of groups, the manager, its
rights, the admission policies; and in the namespace, or with -A in all, what keeps agents from
working: pods without one, CPU limits, quotas, NetworkPolicies, service meshes. With --pre, check
whether Podesta can be installed.

Nothing is changed, and no pod is created: the command reads what you may read, and says what it
could not see and which right that needs. It ends with code 9 if a check has failed, and
with 12 if none has failed and some could not be made.`

const checkExamples = `  # Can it be installed here?
  kubectl election check --pre

  # Does it work, everywhere?
  kubectl election check -A`

// newCheckCommand returns the command that checks an installation.
func newCheckCommand(in surroundings, at *cluster) *cobra.Command {
	var before, all bool
	var output string
	command := &cobra.Command{
		Use:     "check",
		Short:   "Check whether Podesta can be installed, or works",
		Long:    checkLong,
		Example: checkExamples,
		Args: func(c *cobra.Command, args []string) error {
			if before && all {
				return fmt.Errorf("--pre looks at no namespace of groups: leave out -A")
			}
			if err := checkFormat(output, "json", "yaml"); err != nil {
				return err
			}
			return cobra.NoArgs(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			i, err := in.inspect(at)
			if err != nil {
				return err
			}
			i.system = at.system
			if all {
				i.namespace = ""
			}
			over := waiting(c.ErrOrStderr(), "reading the cluster")
			results, err := i.results(c.Context(), before)
			over()
			if err != nil {
				return err
			}
			s := shower{surroundings: in, out: c.OutOrStdout()}
			if err := s.checked(results, output); err != nil {
				return err
			}
			if check.Worst(results) == check.Failed {
				return &failure{exitCheck, "a check has failed", nil}
			}
			if n := check.Unread(results); n > 0 {
				return &failure{exitUnknown, fmt.Sprintf("none has failed, but %d of %d checks could not "+
					"be made: the lines with ? say which rights they need", n, len(results)), nil}
			}
			return nil
		},
	}
	f := command.Flags()
	f.BoolVar(&before, "pre", false, "check whether Podesta can be installed")
	f.BoolVarP(&all, "all-namespaces", "A", false, "the groups of all namespaces")
	f.StringVarP(&output, "output", "o", "", "json or yaml")
	completeFormats(command, "json", "yaml")
	return command
}

// checked writes results.
func (s shower) checked(results []check.Result, format string) error {
	if isDocument(format) {
		return writeDocument(s.out, format, "", struct {
			Results []check.Result `json:"results"`
		}{results})
	}
	_, err := io.WriteString(s.out, text.Check(results, s.options()))
	return err
}
