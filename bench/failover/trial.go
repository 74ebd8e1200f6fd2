package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/test/observer"
)

// trial is what one fault gave.
type trial struct {
	struck time.Time
	named  time.Duration // until every survivor named the same new coordinator
	worked time.Duration // CPU time until then, of the survivors and of this program
	acted  time.Duration // until the app of that one heard that it may act
	woken  *waking       // of a coordinator that was paused
}

// try waits until the group is quiet, strikes its coordinator, awaits the next one, and mends.
func (g *group) try(run context.Context, name string) (t trial, err error) {
	f, err := findFault(name)
	if err != nil {
		return t, err
	}
	old, err := g.ready(run)
	if err != nil {
		return t, err
	}
	ctx, cancel := g.patiently(run)
	defer cancel()
	survivors := slices.DeleteFunc(slices.Clone(g.names), func(n string) bool { return n == old })
	before, err := g.worked(survivors)
	if err != nil {
		return t, err
	}
	t.struck = time.Now()
	if err := f.strike(g, old); err != nil {
		return t, err
	}
	agreed, err := g.observer.Await(ctx, survivors, func(c string) bool { return c != old })
	if err != nil {
		return t, err
	}
	after, err := g.worked(survivors)
	if err != nil {
		return t, err
	}
	t.worked = after - before
	may, err := g.apps.await(ctx, agreed.Coordinator)
	if err != nil {
		return t, err
	}
	if t.named, err = agreed.After(t.struck); err != nil {
		return t, fmt.Errorf("%s is named: %w", agreed.Coordinator, err)
	}
	if t.acted, err = observer.After(t.struck, may); err != nil {
		return t, fmt.Errorf("%s may act: %w", agreed.Coordinator, err)
	}
	acts, err := g.leads(ctx, agreed.Coordinator)
	if err != nil {
		return t, err
	}
	if !acts {
		return t, fmt.Errorf("the app of %s heard that it may act, and its /v1/permission says 503",
			agreed.Coordinator)
	}
	err = f.mend(run, g, old, &t)
	g.mended = time.Now()
	return t, err
}
