package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
	"github.com/podesta-dev/podesta/internal/trace"
	"github.com/podesta-dev/podesta/internal/trace/drawing"
)

const traceLong = `Show every message of an election, and its outcome. The command collects the
accounts of all agents, which list what each process sent and received, and merges them into one
diagram.

No clock of one machine is compared with that of another. A message cannot arrive before it was
sent: that orders the events, and where it leaves the order open, the diagram says so. It lists the
processes that gave no account.

The accounts come from the agents, by forwarding a port to each pod: that needs the verb create on
pods/portforward. Without it, the command shows what the group's status has of the election, and
lists what is missing. It opens no session, and permits nothing.

With -f the accounts are read from files, each with what an agent answers at GET /v1/elections
(docs/reference/app-api.md). That needs no cluster.`

const traceExamples = `  # The last election
  kubectl election trace scheduler -n shop

  # As a space-time diagram
  kubectl election trace scheduler -n shop -o svg > election.svg

  # A certain one: kubectl get eg scheduler -n shop -o jsonpath='{.status.elections[*].id}'
  kubectl election trace scheduler -n shop --election scheduler-3/1763700000123/4

  # Outside of a cluster
  kubectl election trace -f a.json -f b.json`

// tracing is a call of the command.
type tracing struct {
	surroundings
	*cluster
	output   string
	last     int
	election string
	files    []string
	port     int
	within   time.Duration
}

// newTraceCommand returns the command that shows what was said in an election.
func newTraceCommand(in surroundings, at *cluster) *cobra.Command {
	t := &tracing{surroundings: in, cluster: at}
	command := &cobra.Command{
		Use:     "trace GROUP",
		Short:   "Show what was said in an election, and what came of it",
		Long:    traceLong,
		Example: traceExamples,
		Args:    t.check,
		RunE:    t.run,
	}
	f := command.Flags()
	f.IntVar(&t.last, "last", 1, "show so many elections, the newest first")
	f.StringVar(&t.election, "election", "", "show the election of this `ID`")
	f.StringVarP(&t.output, "output", "o", "",
		"text, json, yaml or svg (a space-time diagram of one election)")
	f.StringArrayVarP(&t.files, "filename", "f", nil,
		"read an agent's accounts from this `FILE`, and ask no cluster (may be repeated)")
	f.IntVar(&t.port, "app-port", 4040, "the port of the agents' --app-address")
	f.DurationVar(&t.within, "timeout", 30*time.Second, "how long to wait for the agents")
	command.ValidArgsFunction = groupNames(in, t.cluster)
	completeFormats(command, "text", "json", "yaml", "svg")
	return command
}

func (t *tracing) check(c *cobra.Command, args []string) error {
	switch {
	case len(t.files) > 0 && len(args) > 0:
		return errors.New("-f reads files, so leave out GROUP")
	case len(t.files) == 0 && len(args) != 1:
		return oneGroup(c, args)
	case t.last < 1:
		return fmt.Errorf("--last %d: must be 1 or more", t.last)
	case t.last > 1 && t.election != "":
		return errors.New("--last and --election: use only one of them")
	case t.last > 1 && t.output == "svg":
		return errors.New("-o svg draws one election: leave out --last, or choose one with --election")
	case t.port < 1 || t.port > 65535:
		return fmt.Errorf("--app-port %d: must be 1 to 65535", t.port)
	case t.within <= 0:
		return fmt.Errorf("--timeout %v: must be more than 0", t.within)
	default:
		return checkFormat(t.output, "text", "json", "yaml", "svg")
	}
}

func (t *tracing) run(c *cobra.Command, args []string) error {
	if len(t.files) > 0 {
		input, err := readAccounts(t.files)
		if err != nil {
			return err
		}
		return t.show(c.OutOrStdout(), groupOf(input), input, nil, display.Current{})
	}
	group, err := t.surroundings.group(c, t.cluster, args[0])
	if err != nil {
		return err
	}
	ask, err := t.surroundings.agents(t.cluster)
	if err != nil {
		return err
	}
	input := published(group, t.now())
	q := questioning{
		ask:       ask,
		namespace: group.Namespace,
		port:      t.port,
		within:    t.within,
		notes:     c.ErrOrStderr(),
	}
	if err := q.askAll(c.Context(), &input); err != nil {
		return err
	}
	name := display.Printable(group.Namespace+"/"+group.Name, 500)
	kube, _, err := t.surroundings.connect(t.cluster)
	if err != nil {
		return err
	}
	current := lookout{kube, t.system, t.now}.once(c.Context())
	return t.show(c.OutOrStdout(), name, input, group, current)
}

// traces is what the command shows, for programs.
type traces struct {
	Group     string          `json:"group"`
	Elections []trace.Picture `json:"elections"`
	// Current is how current the group's status is, which lists elections that no agent remembers.
	Current *display.Current `json:"current,omitempty"`
}

// show shows the elections that were asked for. Group is nil if there is no cluster.
func (t *tracing) show(out io.Writer, name string, input trace.Input,
	group *v1.ElectionGroup, current display.Current) error {
	all := trace.Join(input)
	var shown []trace.Picture
	for _, p := range all {
		if t.election == "" && len(shown) < t.last || t.election != "" && p.Is(t.election) {
			shown = append(shown, p)
		}
	}
	if len(shown) == 0 {
		return t.nothing(name, input, group, all)
	}
	switch t.output {
	case "json", "yaml":
		document := traces{Group: name, Elections: shown}
		if group != nil {
			document.Current = &current
		}
		return cmp.Or(writeDocument(out, t.output, "", document), stale(current))
	case "svg":
		_, err := out.Write(drawing.Of(shown[0], shown[0].Title(name)).SVG())
		return cmp.Or(err, stale(current))
	default:
		width, _, terminal := t.screen(out)
		o := text.Options{Width: max(width-1, 0), Colour: coloured(terminal)}
		var b strings.Builder
		if current.Stale {
			o.Stale(&b, current, "the elections in the status of "+name)
		}
		b.WriteString(text.Trace(name, shown, o))
		_, err := io.WriteString(out, b.String())
		return cmp.Or(err, stale(current))
	}
}

// again is how another command names what this one has read.
func (t *tracing) again(group *v1.ElectionGroup) string {
	if group == nil {
		return "-f " + display.Printable(strings.Join(t.files, " -f "), 1000)
	}
	return group.Name + " -n " + group.Namespace
}

// nothing says why no election is shown.
func (t *tracing) nothing(name string, input trace.Input, group *v1.ElectionGroup,
	all []trace.Picture) error {
	text := fmt.Sprintf("no election of %s is known", name)
	if t.election != "" && len(all) > 0 {
		text = fmt.Sprintf("no election %s of %s is known any more. To see those that are: kubectl "+
			"election trace %s --last 10", display.Printable(t.election, 300), name, t.again(group))
	} else if len(input.Absent) > 0 {
		text += ". These could not be asked: " + absences(input)
	}
	return &failure{exitNoElection, text, nil}
}
