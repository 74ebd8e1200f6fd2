package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// pause stops the coordinator for longer than its lease and lets it go on: that is where others
// make two coordinators.
func (d *demo) pause(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d.title("A pause longer than the lease")
	before, err := d.stage.Observer.Await(ctx, d.pods, nil)
	if err != nil {
		return err
	}
	paused := before.Coordinator
	if err := d.permission(ctx, paused, http.StatusOK); err != nil {
		return err
	}
	at, err := d.stage.Signal(ctx, paused, syscall.SIGSTOP)
	if err != nil {
		return err
	}
	d.say("SIGSTOP to all processes of %s, the coordinator: its connections stay open", paused)
	others := slices.DeleteFunc(slices.Clone(d.pods), func(p string) bool { return p == paused })
	after, err := d.stage.Observer.Await(ctx, others, func(c string) bool { return c != paused })
	if err != nil {
		return err
	}
	took, err := after.After(at)
	if err != nil {
		return err
	}
	d.say("%s is the new coordinator after %s ms: the old one's lease had to run out first",
		after.Coordinator, ms(took))
	if _, err := d.stage.Await(ctx, "the new coordinator in the status",
		func(g *v1.ElectionGroup) bool {
			return g.Status.Coordinator != nil && g.Status.Coordinator.Name == after.Coordinator
		}); err != nil {
		return err
	}
	if _, err := d.stage.Signal(ctx, paused, syscall.SIGCONT); err != nil {
		return err
	}
	d.say("SIGCONT to %s: may it act?", paused)
	if err := d.permission(ctx, paused, http.StatusServiceUnavailable); err != nil {
		return err
	}
	eg, err := d.stage.Await(ctx, "one coordinator for all processes in the status",
		func(g *v1.ElectionGroup) bool {
			return g.Status.Coordinator != nil &&
				!slices.ContainsFunc(g.Status.Processes, func(p v1.ProcessStatus) bool {
					follows, _ := g.Status.Followed(&p)
					return follows != g.Status.Coordinator.Name
				})
		})
	if err != nil {
		return err
	}
	d.show(eg)
	return nil
}

// permission asks a pod's agent what its app would ask. The demo fails if the answer is not what it
// shows.
func (d *demo) permission(ctx context.Context, pod string, want int) error {
	pods, err := d.stage.Pods(ctx)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+stage.AppAddress(pods[pod])+"/v1/permission", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	d.say("%s$ curl 127.0.0.1:4040/v1/permission   → %s", pod, response.Status)
	d.say("  %s", strings.TrimSpace(string(body)))
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s answers %s, want %d", pod, response.Status, want)
	}
	return errors.Join(err, response.Body.Close())
}
