package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/backoff"
	"github.com/podesta-dev/podesta/internal/display"
)

// watcher shows groups whenever they change.
type watcher struct {
	kube  apiClient
	which reading
	show  audience
	notes io.Writer
	pulse pulse
	ask   views // asks agents which coordinator they follow, if nobody updates the group

	current display.Current // as the last look has it
}

// audience is shown what a watcher has seen.
type audience interface {
	// groups are all that there are now, by name; note is what is wrong with the watch, if anything.
	groups(all []*v1.ElectionGroup, current display.Current, note string) error
	// each returns how often it is to be shown without a change; 0: never.
	each() time.Duration
}

// firstPause and lastPause bound the pause before another attempt.
const firstPause, lastPause = time.Second, 15 * time.Second

// run shows groups until the context ends, which is no error. A watch that ends begins again. The
// first attempt fails for good, and so does any that lacks a right, or the resource.
func (w *watcher) run(ctx context.Context) error {
	var seen map[types.NamespacedName]*v1.ElectionGroup
	for failures := 0; ; failures++ {
		began := time.Now()
		found, err := w.follow(ctx, &seen)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (!found && failures == 0 || lasting(err)):
			return err
		}
		lasted := time.Since(began)
		if found && (lasted > lastPause || err == nil && lasted > firstPause) {
			failures = 0 // a timeout of the user or of a proxy ends watches without an error
		}
		note := "the API server has ended the watch: listing again"
		if err != nil {
			note = "what is shown may be old, trying again: " + display.Printable(err.Error(), 500)
			w.current = w.pulse.silent(err)
		}
		fmt.Fprintln(w.notes, note)
		if err := w.show.groups(inOrder(seen), w.current, note); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff.Wait(firstPause, lastPause, failures+1)):
		}
	}
}

// lasting reports whether an error stays until a person acts. One that is not the API server's says
// that nothing can be written any more.
func lasting(err error) bool {
	var f *failure
	return !errors.As(err, &f) || f.code != exitUnreachable && f.code != exitFailed
}

// follow lists the groups, and shows them until the watch ends. Found is true if they were listed.
func (w *watcher) follow(ctx context.Context,
	seen *map[types.NamespacedName]*v1.ElectionGroup) (found bool, err error) {
	groups, version, err := readGroups(ctx, w.kube, w.which, w.notes)
	if err != nil {
		return false, err
	}
	if w.which.name != "" && len(groups) == 0 && *seen == nil {
		return false, w.which.noGroup()
	}
	*seen = map[types.NamespacedName]*v1.ElectionGroup{}
	for _, g := range groups {
		(*seen)[keyOf(g)] = g
	}
	if w.current, err = w.pulse.look(ctx); err != nil {
		return true, w.which.failed(err)
	}
	if err := w.show.groups(inOrder(*seen), w.current, ""); err != nil {
		return true, err
	}
	which := w.which
	which.verb = "watch"
	events, err := w.kube.watch(ctx, which, version)
	if err != nil {
		return true, which.failed(err)
	}
	defer events.Stop()
	return true, w.watch(ctx, events, *seen)
}

// watch shows the groups at each event, and as often as the audience asks for, until the watch
// ends.
func (w *watcher) watch(ctx context.Context, events watch.Interface,
	seen map[types.NamespacedName]*v1.ElectionGroup) error {
	var tick <-chan time.Time
	if each := w.show.each(); each > 0 {
		ticker := time.NewTicker(each)
		defer ticker.Stop()
		tick = ticker.C
	}
	checks := time.NewTicker(checkEvery)
	defer checks.Stop()
	c := newCheckup(ctx, w)
	defer c.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		case <-checks.C:
			c.begin(seen)
			continue
		case result := <-c.results:
			if deaf := c.end(result, seen); deaf {
				return nil // it is listed again
			}
		case e, open := <-events.ResultChan():
			switch group, ok := e.Object.(*v1.ElectionGroup); {
			case !open:
				return nil
			case e.Type == watch.Error:
				return w.ended(apierrors.FromObject(e.Object))
			case !ok || e.Type == watch.Bookmark:
				continue
			case e.Type == watch.Deleted:
				delete(seen, keyOf(group))
			default:
				seen[keyOf(group)] = group
			}
		}
		if err := w.show.groups(inOrder(seen), w.current, w.silence()); err != nil {
			return err
		}
	}
}

// ended returns why a watch has ended; nothing if it was only too old.
func (w *watcher) ended(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	which := w.which
	which.verb = "watch"
	return which.failed(err)
}

func inOrder(seen map[types.NamespacedName]*v1.ElectionGroup) []*v1.ElectionGroup {
	keys := slices.SortedFunc(maps.Keys(seen), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := make([]*v1.ElectionGroup, 0, len(keys))
	for _, key := range keys {
		all = append(all, seen[key])
	}
	return all
}
