// Package writer is an app for tests: it runs beside an agent, asks it whether this process may
// act, and while it believes so writes to the fenced register. What it was told goes into
// its trace, for the checker; the register logs what it wrote.
//
// Part of its writes are careless: time passes between the look at the clock and the write, and
// there is no second look. They show that a check does not protect a resource, and that the
// register's epochs do.
package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// Options say for whom a writer writes.
type Options struct {
	Agent    string // base URL of the agent's app API
	Register string // URL of the register
	Group    string
	Process  string // the pod's name
	UID      string // the pod's
	Ask      Asking
	Trace    io.Writer // unbuffered
	// is told what should not be, in a sentence; may be called from several goroutines
	Report func(string)
}

// The pace of writes: about 14 a second with care and 4 without.
const (
	careful    = 70 * time.Millisecond  // between two writes
	thinkLeast = 100 * time.Millisecond // between a careless writer's check and its write
	thinkMost  = 400 * time.Millisecond
	putTimeout = 2 * time.Second
)

// Run writes until ctx ends. The error is that the trace could not be written: without it nothing
// can be checked.
func Run(ctx context.Context, o Options) error {
	w := &writer{Options: o, trace: &trace{out: o.Trace}}
	w.belief = newBelief(w.trace)
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	defer transport.CloseIdleConnections()
	w.client = &http.Client{Transport: transport}
	w.trace.add(started(o))
	// The belief ends before the asker, and with it a session, does: so what the agent sees comes
	// after what the trace has.
	asking, stopAsking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAsking()
	var lanes sync.WaitGroup
	lanes.Go(func() {
		a := &asker{
			agent:  o.Agent,
			client: w.client,
			belief: w.belief,
			report: func(err error) { o.Report(err.Error()) },
		}
		a.run(asking, o.Ask)
	})
	lanes.Go(func() { w.careful(ctx) })
	lanes.Go(func() { w.careless(ctx) })
	<-ctx.Done()
	w.belief.end("ended")
	stopAsking()
	lanes.Wait()
	return w.trace.failure()
}

type writer struct {
	Options
	trace  *trace
	belief *belief
	client *http.Client
}

// careful writes right after each check.
func (w *writer) careful(ctx context.Context) {
	ticker := time.NewTicker(careful)
	defer ticker.Stop()
	for {
		checked, p, ok := w.mayAct(ctx)
		if !ok {
			return
		}
		w.put(ctx, p, checked, false)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// careless checks, thinks, and writes.
func (w *writer) careless(ctx context.Context) {
	for {
		checked, p, ok := w.mayAct(ctx)
		if !ok {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(thinkLeast + rand.N(thinkMost-thinkLeast)):
		}
		w.put(ctx, p, checked, true)
	}
}

// mayAct waits until this process may act; it returns false if ctx ends before. Checked is when it
// looked at the clock.
func (w *writer) mayAct(ctx context.Context) (checked register.Instant, p permission, ok bool) {
	for ctx.Err() == nil {
		checked = register.Now()
		p, ok, changed := w.belief.check(checked)
		if ok {
			return checked, p, true
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	return 0, permission{}, false
}

// put sends a write, whatever the clock says by now.
func (w *writer) put(ctx context.Context, p permission, checked register.Instant, careless bool) {
	err := w.send(ctx, register.Write{
		Group:    w.Group,
		Process:  w.Process,
		UID:      w.UID,
		Epoch:    p.epoch,
		Since:    p.since,
		Heard:    p.heard,
		Checked:  checked,
		Deadline: p.deadline,
		Session:  p.how == Session,
		Careless: careless,
	})
	if err != nil && ctx.Err() == nil {
		w.Report("write: " + err.Error())
	}
}

func (w *writer) send(ctx context.Context, write register.Write) error {
	body, err := json.Marshal(write)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, w.Register, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// to the end, so that the connection is used again
	said, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
		return fmt.Errorf("%s: %.200s", response.Status, said)
	}
	return nil
}
