package main

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

const (
	// agentPort is the port of the agents' --app-address.
	agentPort = 4040
	// viewsWithin is how long the agents of a group may take, all together, to say whom they follow.
	viewsWithin = 15 * time.Second
)

// current returns how current the status of a group is. If nobody updates it, current asks the
// agents.
func (s surroundings) current(ctx context.Context, kube apiClient, at *cluster,
	group *v1.ElectionGroup, notes io.Writer) (current display.Current, err error) {
	over := waiting(notes, "looking whether a manager leads")
	current = lookout{kube, at.system, s.now}.once(ctx)
	over()
	if !current.Stale {
		return current, ctx.Err()
	}
	ask, err := s.views(at)
	if err != nil {
		return current, err
	}
	current.Agents = askViews(ctx, ask, group, notes)
	return current, ctx.Err()
}

// askViews asks the agents of a group, a few at a time, whom they follow. If the user may not
// forward ports, it says so once.
func askViews(ctx context.Context, ask views, group *v1.ElectionGroup,
	notes io.Writer) *display.Agents {
	defer waiting(notes, "asking the agents")()
	ctx, cancel := context.WithTimeout(ctx, viewsWithin)
	defer cancel()
	asking, limited := errgroup.WithContext(ctx)
	asking.SetLimit(askedAtOnce)
	rows := group.Status.Processes
	answers, failures := make([]view, len(rows)), make([]error, len(rows))
	for i := range rows {
		asking.Go(func() error {
			if failures[i] = limited.Err(); failures[i] != nil {
				return nil
			}
			one, cancel := context.WithTimeout(limited, oneAnswer)
			defer cancel()
			answers[i], failures[i] = ask(one, group.Namespace, rows[i].Name, agentPort)
			if errors.Is(failures[i], errNoRight) {
				return errNoRight
			}
			return nil
		})
	}
	forbidden := asking.Wait() != nil
	follows, said := map[string]string{}, &display.Agents{Absent: map[string]string{}}
	for i, row := range rows {
		if failures[i] != nil {
			said.Absent[display.Printable(row.Name, 253)] = unanswered(failures[i], forbidden,
				group.Namespace)
			continue
		}
		follows[row.Name] = answers[i].Name
	}
	said.Views = display.ViewsOf(follows)
	return said
}
