package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
)

// setBack kills all managers and meanwhile puts an older roster into every group's status, as who
// restores a backup does. It returns when managers run again.
func (r *runner) setBack(ctx context.Context, groups []*group) (at register.Instant, err error) {
	backups := map[*group]*v1.RosterStatus{}
	for _, g := range groups {
		eg := g.election()
		if err := r.Get(ctx, client.ObjectKeyFromObject(eg), eg); err != nil {
			return register.Now(), err
		}
		backups[g] = eg.Status.Roster
	}
	if err := backend.Each(groups, func(g *group) error { return r.outdate(ctx, g) }); err != nil {
		return register.Now(), err
	}
	killed := make(chan error, 1)
	go func() {
		var err error
		at, err = r.backend.StrikeProgram(ctx, backend.Managers, 0)
		killed <- err
	}()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		restored := backend.Each(groups, func(g *group) error { return r.restore(ctx, g, backups[g]) })
		select {
		case err := <-killed:
			return at, errors.Join(restored, err)
		case <-again.C: // a manager that was not dead yet may have written since
		}
	}
}

// outdate makes a roster that no backup has. The same process has the highest priority as before.
func (r *runner) outdate(ctx context.Context, g *group) error {
	g.backups++
	patch := fmt.Sprintf(`{"spec":{"processes":[{"name":%q,"priority":%d}]}}`, g.highest(),
		100+g.backups)
	if err := r.merge(ctx, g.election(), patch); err != nil {
		return err
	}
	return r.settled(ctx, g, nil)
}

// restore puts a roster into a group's status. The API server lets no generation go back in one
// step. A manager that still runs may come between the two: then it is not restored.
func (r *runner) restore(ctx context.Context, g *group, backup *v1.RosterStatus) error {
	eg := g.election()
	if err := r.Get(ctx, client.ObjectKeyFromObject(eg), eg); err != nil {
		return err
	}
	if now := eg.Status.Roster; now != nil && backup != nil && now.Generation == backup.Generation {
		return nil
	}
	wipe := client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/status","value":{}}]`))
	if err := r.Status().Patch(ctx, eg, wipe); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"roster": backup}})
	if err != nil {
		return err
	}
	err = r.Status().Patch(ctx, eg, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
