package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
)

const statusLong = `Show who coordinates a group, and what is wrong with it: its state, what to do
about problems, its voters and how many of them may fail, who would be next, and every process with
its own view, highest rank first.

Without GROUP, all groups of the namespace are listed, a line each; those that need somebody come
first. With several names or -l, only those are. With -w, the command shows every change until it is
interrupted: in place on a terminal, else a line for each change.

What is shown is what the manager published last. Elections go on without it. The command looks
whether a manager leads (its Lease; without the right to read it, the age is not known). If none
does, the first line says so, the agents of GROUP are asked, too, and the command ends with code
11.`

const statusExamples = `  # All groups of the cluster, those that need somebody first
  kubectl election status -A

  # One group, as it changes
  kubectl election status scheduler -n shop -w

  # How many voters may fail now
  kubectl election status scheduler -n shop -o jsonpath='{.voters.mayFail}'

  # The names of the groups that nobody coordinates
  kubectl election status -A -o json | jq -r '.items[] | select(.coordinator | not) | .name'`

// newStatusCommand returns the command that shows groups.
func newStatusCommand(in surroundings, at *cluster) *cobra.Command {
	var all, watching, noHeaders bool
	var output, selector string
	command := &cobra.Command{
		Use:     "status [GROUP...]",
		Short:   "Show who coordinates, and what is wrong",
		Long:    statusLong,
		Example: statusExamples,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1 && watching:
				return errors.New("-w watches one group, or all: leave out the others")
			case len(args) > 0 && selector != "":
				return errors.New("-l chooses groups by their labels: leave out the names")
			case len(args) > 0 && all:
				return errors.New("-A lists the groups of all namespaces: leave out GROUP, or give its " +
					"namespace with -n")
			}
			if isJSONPath(output) {
				return errors.Join(parses(output))
			}
			return checkFormat(output, "wide", "json", "yaml", "name", "jsonpath=TEMPLATE")
		},
		RunE: func(c *cobra.Command, args []string) error {
			kube, namespace, err := in.connect(at)
			if err != nil {
				return err
			}
			which := reading{namespace: namespace}
			if all {
				which.namespace = ""
			}
			which.labels = selector
			if len(args) == 1 {
				which.name = groupName(args[0])
			}
			s := shower{
				surroundings: in,
				out:          c.OutOrStdout(),
				format:       output,
				which:        which,
				noHeaders:    noHeaders,
				at:           at,
			}
			if watching {
				return s.watch(c, kube)
			}
			if len(args) > 1 {
				return s.some(c, kube, args)
			}
			return s.once(c, kube)
		},
	}
	f := command.Flags()
	f.BoolVarP(&all, "all-namespaces", "A", false, "the groups of all namespaces")
	f.BoolVarP(&watching, "watch", "w", false, "show every change until interrupted")
	f.StringVarP(&output, "output", "o", "", "wide (more columns, all elections), json, yaml, "+
		"name or jsonpath=TEMPLATE")
	f.StringVarP(&selector, "selector", "l", "", "only groups with these labels")
	f.BoolVar(&noHeaders, "no-headers", false, "leave out the headings of tables")
	command.ValidArgsFunction = groupNames(in, at)
	completeFormats(command, "wide", "json", "yaml", "name")
	return command
}

// watch shows every change, until it is interrupted.
func (s shower) watch(c *cobra.Command, kube apiClient) error {
	ask, err := s.surroundings.views(s.at)
	if err != nil {
		return err
	}
	w := watcher{
		kube:  kube,
		which: s.which,
		show:  s.forWatch(),
		notes: c.ErrOrStderr(),
		pulse: pulse{lookout: lookout{kube, s.at.system, s.surroundings.now}},
		ask:   ask,
	}
	return w.run(c.Context())
}

// readGroups returns the groups, and the version at which a watch may begin. The notes say that it
// takes long, if it does.
func readGroups(ctx context.Context, kube apiClient, which reading,
	notes io.Writer) (groups []*v1.ElectionGroup, version string, err error) {
	defer waiting(notes, "reading %s", which)()
	which.verb = "list"
	all := &v1.ElectionGroupList{}
	err = kube.list(ctx, groupsResource, which.namespace, which.options(), all)
	if err != nil {
		return nil, "", which.failed(err)
	}
	for i := range all.Items {
		groups = append(groups, &all.Items[i])
	}
	return groups, all.ResourceVersion, nil
}

// readGroup returns a group. It needs less rights than a list with one entry.
func readGroup(ctx context.Context, kube apiClient, which reading,
	notes io.Writer) (*v1.ElectionGroup, error) {
	defer waiting(notes, "reading %s", which)()
	which.verb = "get"
	key := types.NamespacedName{Namespace: which.namespace, Name: which.name}
	group := &v1.ElectionGroup{}
	if err := kube.get(ctx, groupsResource, key, group); err != nil {
		return nil, which.failed(err)
	}
	return group, nil
}

// group reads the group that an argument names.
func (s surroundings) group(c *cobra.Command, at *cluster, argument string) (*v1.ElectionGroup,
	error) {
	kube, namespace, err := s.connect(at)
	if err != nil {
		return nil, err
	}
	which := reading{namespace: namespace, name: groupName(argument)}
	return readGroup(c.Context(), kube, which, c.ErrOrStderr())
}

// shower writes groups in the format that was asked for.
type shower struct {
	surroundings
	out    io.Writer
	format string // wide, json, yaml, name, or empty
	which  reading

	noHeaders bool
	at        *cluster
}

// once shows what there is.
func (s shower) once(c *cobra.Command, kube apiClient) error {
	ctx, notes := c.Context(), c.ErrOrStderr()
	if s.which.name == "" {
		groups, _, err := readGroups(ctx, kube, s.which, notes)
		if err != nil {
			return err
		}
		return s.list(c, kube, groups)
	}
	group, err := readGroup(ctx, kube, s.which, notes)
	if err != nil {
		return err
	}
	current, err := s.current(ctx, kube, s.at, group, notes)
	if err != nil {
		return err
	}
	shown := display.Dated(group, s.now(), current)
	if isDocument(s.format) {
		err = writeDocument(s.out, s.format, group.Name, shown)
	} else {
		_, err = io.WriteString(s.out, text.Status(shown, s.options()))
	}
	return cmp.Or(err, stale(current))
}

// some shows the groups of these names, a line each.
func (s shower) some(c *cobra.Command, kube apiClient, names []string) error {
	var groups []*v1.ElectionGroup
	for _, name := range names {
		which := reading{namespace: s.which.namespace, name: groupName(name)}
		group, err := readGroup(c.Context(), kube, which, c.ErrOrStderr())
		if err != nil {
			return err
		}
		groups = append(groups, group)
	}
	return s.list(c, kube, groups)
}

// list shows groups, a line each.
func (s shower) list(c *cobra.Command, kube apiClient, groups []*v1.ElectionGroup) error {
	over := waiting(c.ErrOrStderr(), "looking whether a manager leads")
	current := lookout{kube, s.at.system, s.now}.once(c.Context())
	over()
	if err := c.Context().Err(); err != nil {
		return err
	}
	shown := s.shown(groups, current)
	if isDocument(s.format) {
		return cmp.Or(writeDocuments(s.out, s.format, shown), stale(current))
	}
	if len(shown) == 0 {
		fmt.Fprintln(c.ErrOrStderr(), s.noGroups())
		return nil
	}
	_, err := io.WriteString(s.out, text.List(shown, s.options()))
	if !current.Stale && !s.noHeaders {
		fmt.Fprintf(c.ErrOrStderr(), "as of %s\n", current.Text())
	}
	return cmp.Or(err, stale(current))
}

// shown returns what is shown of groups, those that need somebody first.
func (s shower) shown(groups []*v1.ElectionGroup, current display.Current) []display.Group {
	shown := make([]display.Group, 0, len(groups))
	for _, g := range groups {
		shown = append(shown, display.Dated(g, s.now(), current))
	}
	text.Sort(shown)
	return shown
}

// options are those for where the output goes.
func (s shower) options() text.Options {
	width, _, terminal := s.screen(s.out)
	return text.Options{
		Width:      max(width-1, 0), // a redrawn frame leaves the last column empty
		Colour:     coloured(terminal),
		Wide:       s.format == "wide",
		Namespaces: s.which.namespace == "",
		NoHeaders:  s.noHeaders,
	}
}

func (s shower) noGroups() string {
	switch {
	case s.which.name != "":
		return fmt.Sprintf("There is no %s.", s.which)
	case s.which.namespace == "":
		return "There are no groups. docs/start/first-group.md creates one."
	default:
		return fmt.Sprintf("There are no groups in namespace %s. With -A, those of all namespaces are "+
			"listed.", display.Printable(s.which.namespace, 253))
	}
}
