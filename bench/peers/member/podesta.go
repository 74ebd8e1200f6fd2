package member

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/test/register"
)

// podesta is an app beside an agent that it starts: the two containers of a pod. A signal to their
// process group reaches both.
func podesta(ctx context.Context, args []string, say *said.Speaker) error {
	var id, url string
	f := flags("podesta", &id)
	f.StringVar(&url, "app-api", "", "the agent's app API")
	guarded := f.Bool("guarded", false, "the group is a Guarded one: stop when told to, and close "+
		"the session if something is left of the permission")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return fmt.Errorf("%s: name the agent's command after --", id)
	}
	// Without the context: at SIGTERM the agent, which gets it too, hands over, and that takes its
	// app.
	//nolint:gosec // the user names it
	c := exec.CommandContext(context.WithoutCancel(ctx), f.Arg(0), f.Args()[1:]...)
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	running, gone := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		_ = c.Wait()
		gone()
	}()
	client := &agent.Client{URL: url,
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	app := &app{guarded: *guarded, permission: permission{say: say, now: register.Now}}
	for running.Err() == nil {
		if !app.session(running, client) {
			pause(running, 20*time.Millisecond) // the agent is not there
		}
	}
	return nil
}

// app is what the agent has told its app.
type app struct {
	guarded    bool
	permission permission
}

// session keeps a session open, as agent.Run does for work that has nothing to finish when it is
// told to stop: it ends the session then, which gives the permission back, unless that has run out.
// It reports whether that ended it.
func (a *app) session(ctx context.Context, client *agent.Client) (ended bool) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	acted, last := false, register.Instant(0) // the last deadline that it was told
	// the error says that the agent is gone, or that we ended it
	_ = client.Session(ctx, func(p agent.Permission) {
		coordinator := p.Coordinator
		if p.Electing {
			coordinator = ""
		}
		a.permission.say.Names(coordinator)
		var until register.Instant
		now := register.Now()
		if a.guarded {
			until = now.Add(p.Remaining())
			last = max(last, until)
		}
		a.permission.told(p.Granted, until)
		if acted && !p.Granted && now < last {
			ended = true
			end()
		}
		acted = p.Granted
	})
	a.permission.told(false, 0)
	return ended
}
