package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/trace"
)

// Agents are asked a few at a time, so that a large group does not cost the API server more than a
// person who forwards ports.
const (
	askedAtOnce = 8
	oneAnswer   = 10 * time.Second // of one agent
)

// questioning asks the agents of a group.
type questioning struct {
	ask       agents
	namespace string
	port      int
	within    time.Duration
	notes     io.Writer
}

// answer is what came of asking one agent.
type answer struct {
	process  string
	accounts trace.Accounts
	err      error
}

// askAll asks the agents of all processes, and adds what they tell, or why they do not. A user who
// may not forward ports is told so by the first: the others are not asked.
func (q questioning) askAll(ctx context.Context, input *trace.Input) error {
	defer waiting(q.notes, "asking the agents")()
	limited, cancel := context.WithTimeout(ctx, q.within)
	defer cancel()
	group, asking := errgroup.WithContext(limited)
	group.SetLimit(askedAtOnce)
	answers := make([]answer, len(input.Processes))
	for i, process := range input.Processes {
		group.Go(func() error {
			a, err := q.askOne(asking, process)
			answers[i] = answer{process, a, err}
			if errors.Is(err, errNoRight) {
				return err
			}
			return nil
		})
	}
	forbidden := group.Wait() != nil
	for _, a := range answers {
		q.add(input, a, forbidden)
	}
	return ctx.Err()
}

func (q questioning) askOne(ctx context.Context, process string) (trace.Accounts, error) {
	if ctx.Err() != nil {
		return trace.Accounts{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, oneAnswer)
	defer cancel()
	return q.ask(ctx, q.namespace, process, q.port)
}

// add adds an answer, or why there is none.
func (q questioning) add(input *trace.Input, a answer, forbidden bool) {
	shown := display.Printable(a.process, 253)
	switch {
	case a.err != nil:
		input.Absent[shown] = unanswered(a.err, forbidden, q.namespace)
	case a.accounts.Process == "":
		input.Absent[shown] = "its agent has no roster yet"
	case a.accounts.Process != a.process:
		input.Absent[shown] = "its agent says that it is " +
			display.Printable(a.accounts.Process, 253)
	default:
		printable(&a.accounts)
		input.Accounts = append(input.Accounts, a.accounts)
	}
}

// unanswered says why an agent gives no answer.
func unanswered(err error, forbidden bool, namespace string) string {
	switch {
	case forbidden:
		return fmt.Sprintf("you may not forward ports to pods: that needs the verb create on "+
			"pods/portforward in namespace %s, which the ClusterRole edit has (to see what you have: "+
			"kubectl auth can-i create pods/portforward -n %s)", namespace, namespace)
	case errors.Is(err, context.DeadlineExceeded):
		return "its agent has not answered in time"
	default:
		return display.Printable(err.Error(), 300)
	}
}

// printable makes every string of an account one that may be written to a terminal.
func printable(a *trace.Accounts) {
	safe := func(all ...*string) {
		for _, s := range all {
			*s = display.Printable(*s, 400)
		}
	}
	safe(&a.Process, &a.Group)
	for i := range a.Elections {
		e := &a.Elections[i]
		safe(&e.ID, &e.Coordinator, &e.Initiator, &e.Reason, &e.Algorithm)
		for j := range e.Messages {
			m := &e.Messages[j]
			safe(&m.From, &m.To, &m.Kind, &m.Process)
		}
	}
}

// published is what a group's status has of its processes and its elections.
func published(group *v1.ElectionGroup, now time.Time) trace.Input {
	input := trace.Input{Absent: map[string]string{}}
	for _, p := range display.Of(group, now).Processes {
		input.Processes = append(input.Processes, p.Name)
	}
	for _, e := range group.Status.Elections {
		one := trace.Picture{
			ID:           display.Printable(e.ID, 400),
			Coordinator:  display.Printable(e.To, 253),
			From:         display.Printable(e.From, 253),
			Epoch:        e.Epoch,
			DisplayEpoch: display.Printable(e.DisplayEpoch, 64),
			Algorithm:    display.Printable(string(e.Algorithm), 64),
			Initiator:    display.Printable(e.Initiator, 253),
			Reason:       display.Printable(string(e.Reason), 64),
			Sent:         e.Messages,
			AtMost:       e.MessagesAtMost,
			Milliseconds: e.DurationMilliseconds,
		}
		if !e.At.IsZero() {
			one.At = new(e.At.UTC())
		}
		input.Published = append(input.Published, one)
	}
	return input
}

// readAccounts reads agents' accounts from files.
func readAccounts(files []string) (trace.Input, error) {
	input := trace.Input{Absent: map[string]string{}}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return input, err
		}
		a, err := trace.Read(file)
		_ = file.Close() // it was only read
		switch {
		case err != nil:
			return input, fmt.Errorf("%s is not what an agent answers at GET /v1/elections: %w", name,
				err)
		case a.Process == "":
			return input, fmt.Errorf("%s names no process: its agent had no roster yet when it "+
				"answered, so it tells of no election", name)
		}
		printable(&a)
		input.Accounts = append(input.Accounts, a)
	}
	return input, nil
}

// groupOf is the group whose accounts these are, as far as they say.
func groupOf(input trace.Input) string {
	for _, a := range input.Accounts {
		if a.Group != "" {
			return a.Group
		}
	}
	return "this group"
}

// absences says why processes tell nothing.
func absences(input trace.Input) string {
	byWhy := map[string][]string{}
	for name, why := range input.Absent {
		byWhy[why] = append(byWhy[why], name)
	}
	var all []string
	for _, why := range slices.Sorted(maps.Keys(byWhy)) {
		names := byWhy[why]
		slices.Sort(names)
		all = append(all, display.Enumerate(names)+": "+why)
	}
	return display.Printable(strings.Join(all, "; "), 1000)
}
